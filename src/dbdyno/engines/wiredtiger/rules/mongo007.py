"""MONGO007: checkpoints are not made each minute

What it checks: storage.syncPeriodSecs is 60, its default.

Why it matters: 0 makes none at all, and the journal grows for ever; much more makes recovery long, and each
checkpoint a storm.

Remedy: Go back to 60.

Risk: none that the default does not have.

References: WiredTiger Logging and Checkpoint Mechanism (Percona, 2023): 60 s; MongoDB manual, storage.syncPeriodSecs
(2024): not to be changed.
"""

from dbdyno.engines.wiredtiger.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    seconds = facts.number("setting.storage.syncPeriodSecs")
    if seconds == 60:
        return None
    return Finding(
        says=f"storage.syncPeriodSecs is {seconds:.0f}"
        + (": there are no checkpoints." if not seconds else ", not 60."),
        severity=Severity.CRITICAL if not seconds else Severity.WARNING,
        durability=Level.L3,
        fixes=(setting(facts, "storage.syncPeriodSecs", 60),),
    )


RULE = Rule(
    id="MONGO007",
    title="A checkpoint is made each minute",
    topic="durability",
    check=check,
    source="WiredTiger Logging and Checkpoint Mechanism (Percona, 2023); MongoDB manual, Options (2024)",
    good={"setting.storage.syncPeriodSecs": "60"},
    bad={"setting.storage.syncPeriodSecs": "0"},
)
