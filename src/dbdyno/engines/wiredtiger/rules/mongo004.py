"""MONGO004: a majority acknowledges from memory

What it checks: writeConcernMajorityJournalDefault of the replica set is true.

Why it matters: with false, w: majority is acknowledged before any journal is on disk: a rack that loses power loses
acknowledged writes.

Remedy: Reconfigure the replica set. It is only right to say false where a voting member runs the in-memory engine.

Risk: writes wait for the journals of a majority.

References: MongoDB manual, Replica Set Configuration (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand, in_set
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if facts.flag("setting.writeConcernMajorityJournalDefault"):
        return None
    command = "c = rs.conf(); c.writeConcernMajorityJournalDefault = true; rs.reconfig(c)"
    fact = "setting.writeConcernMajorityJournalDefault"
    return Finding(
        says="writeConcernMajorityJournalDefault is false: a majority acknowledges writes that no disk has.",
        severity=Severity.CRITICAL,
        durability=Level.L3,
        fixes=(by_hand("writeConcernMajorityJournalDefault", command, fact=fact, value="true"),),
    )


RULE = Rule(
    id="MONGO004",
    title="A majority's acknowledgement includes the journal",
    topic="durability",
    check=check,
    source="MongoDB manual, Replica Set Configuration (2024)",
    applies=in_set,
    good={"server.role": "primary", "setting.writeConcernMajorityJournalDefault": "true"},
    bad={"server.role": "primary", "setting.writeConcernMajorityJournalDefault": "false"},
)
