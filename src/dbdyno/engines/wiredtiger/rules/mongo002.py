"""MONGO002: writes are acknowledged by less than a majority

What it checks: the default write concern of a replica set (getDefaultRWConcern, or what the version implies) is
majority.

Why it matters: a write that only the primary has is rolled back when another member is elected, although it was
acknowledged.

Remedy: Set the default for the whole cluster; or let those clients that need it say it themselves. Before 4.4 only
clients can.

Risk: each write waits for a second member; with a member down and an arbiter, writes may wait for ever.

References: Webinar Wednesday 4/12: Tuning MongoDB Consistency (Percona, 2017) names it as the lever; MongoDB manual,
Write Concern (2024): majority is implied since 5.0 unless arbiters hinder it.
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand, in_set
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    concern = facts.text("setting.defaultWriteConcern")
    if concern.split(",")[0] == "majority":
        return None
    command = "db.adminCommand({setDefaultRWConcern: 1, defaultWriteConcern: {w: 'majority'}})"
    return Finding(
        says=f"The default write concern is w: {concern}: acknowledged writes can be rolled back after an election.",
        severity=Severity.CRITICAL if concern == "0" else Severity.WARNING,
        durability=Level.L3,
        fixes=(by_hand("defaultWriteConcern", command, fact="setting.defaultWriteConcern", value="majority"),),
    )


RULE = Rule(
    id="MONGO002",
    title="The default write concern is a majority",
    topic="durability",
    check=check,
    source="MongoDB manual, Write Concern (2024)",
    applies=in_set,
    good={"server.role": "primary", "setting.defaultWriteConcern": "majority"},
    bad={"server.role": "primary", "setting.defaultWriteConcern": "1"},
)
