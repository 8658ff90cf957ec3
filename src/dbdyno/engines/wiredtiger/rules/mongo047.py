"""MONGO047: majority reads are switched off

What it checks: replication.enableMajorityReadConcern is not false.

Why it matters: up to 4.4 false ends change streams and majority reads and was meant for sets with an arbiter; since
5.0 it cannot be false.

Remedy: Take the line out, after the arbiter was replaced by a member with data.

Risk: with an arbiter and a member down, the cache fills: replace the arbiter first.

References: MongoDB manual, Read Concern majority (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import in_set, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if facts.flag("setting.replication.enableMajorityReadConcern"):
        return None
    return Finding(
        says="replication.enableMajorityReadConcern is false.",
        severity=Severity.ADVICE,
        fixes=(setting(facts, "replication.enableMajorityReadConcern", "true"),),
    )


RULE = Rule(
    id="MONGO047",
    title="Majority reads are possible",
    topic="replication",
    check=check,
    source="MongoDB manual, Read Concern majority (2024)",
    applies=in_set,
    good={"server.role": "primary", "setting.replication.enableMajorityReadConcern": "true"},
    bad={"server.role": "primary", "setting.replication.enableMajorityReadConcern": "false"},
)
