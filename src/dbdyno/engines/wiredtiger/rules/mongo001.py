"""MONGO001: the journal is off

What it checks: storage.journal.enabled, on versions where it can be switched off (before 6.1).

Why it matters: without the journal, a crash goes back to the last checkpoint: up to a minute of acknowledged writes
is gone.

Remedy: Switch it on; each member of a replica set in turn.

Risk: a restart; a little more is written.

References: WiredTiger Logging and Checkpoint Mechanism (Percona, 2023); MongoDB manual, Journaling (2024): always on
since 6.1.
"""

from dbdyno.engines.wiredtiger.rules._setting import setting, version
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if facts.flag("setting.storage.journal.enabled"):
        return None
    return Finding(
        says="The journal is off: a crash loses all writes since the last checkpoint, about a minute of them.",
        severity=Severity.CRITICAL,
        durability=Level.L3,
        fixes=(setting(facts, "storage.journal.enabled", "true"),),
    )


RULE = Rule(
    id="MONGO001",
    title="Writes are journaled",
    topic="durability",
    check=check,
    source="WiredTiger Logging and Checkpoint Mechanism (Percona, 2023); MongoDB manual, Journaling (2024)",
    applies=lambda facts: version(facts) < 60100,
    good={"server.version": 60005, "setting.storage.journal.enabled": "true"},
    bad={"server.version": 60005, "setting.storage.journal.enabled": "false"},
)
