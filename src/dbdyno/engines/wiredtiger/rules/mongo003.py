"""MONGO003: writes are acknowledged before anybody has them, or explicitly without the journal

What it checks: the default write concern says neither w: 0 nor j: false.

Why it matters: with w: 0 errors are not even heard; j: false acknowledges from memory, and a loss of power takes up
to commitIntervalMs of writes.

Remedy: Take j: false away, and w: 0 with it.

Risk: writes wait for the journal.

References: MongoDB manual, Write Concern (2024); WiredTiger Logging and Checkpoint Mechanism (Percona, 2023)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand, holds_data
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    concern = facts.text("setting.defaultWriteConcern")
    if concern.split(",")[0] != "0" and "j:false" not in concern:
        return None
    command = "db.adminCommand({setDefaultRWConcern: 1, defaultWriteConcern: {w: 'majority'}})"
    return Finding(
        says=f"The default write concern is {concern}: what is acknowledged was not written anywhere.",
        severity=Severity.CRITICAL,
        durability=Level.L3,
        fixes=(by_hand("defaultWriteConcern", command, fact="setting.defaultWriteConcern", value="majority"),),
    )


RULE = Rule(
    id="MONGO003",
    title="Nobody asks for unjournaled writes",
    topic="durability",
    check=check,
    source="MongoDB manual, Write Concern (2024)",
    applies=holds_data,
    good={"server.role": "primary", "setting.defaultWriteConcern": "1"},
    bad={"server.role": "primary", "setting.defaultWriteConcern": "0"},
)
