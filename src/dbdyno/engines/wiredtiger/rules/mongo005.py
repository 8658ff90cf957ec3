"""MONGO005: the journal is flushed seldom

What it checks: storage.journal.commitIntervalMs is at most 100.

Why it matters: it bounds what a crash takes of writes that did not ask for the journal (w: 1 without j).

Remedy: Go back to the default of 100 ms, or ask for j.

Risk: some more flushes of the disk.

References: WiredTiger Logging and Checkpoint Mechanism (Percona, 2023) on the bound; MongoDB manual, Journaling
(2024): default 100.
"""

from dbdyno.engines.wiredtiger.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    interval = facts.number("setting.storage.journal.commitIntervalMs")
    if interval <= 100:
        return None
    return Finding(
        says=f"storage.journal.commitIntervalMs is {interval:.0f}: such a tail of writes can be lost.",
        durability=Level.L3,
        fixes=(setting(facts, "storage.journal.commitIntervalMs", 100),),
    )


RULE = Rule(
    id="MONGO005",
    title="The journal is flushed often enough",
    topic="durability",
    check=check,
    source="WiredTiger Logging and Checkpoint Mechanism (Percona, 2023); MongoDB manual, Journaling (2024)",
    good={"setting.storage.journal.commitIntervalMs": "100"},
    bad={"setting.storage.journal.commitIntervalMs": "500"},
)
