"""MONGO008: a single server keeps no log of operations

What it checks: the server is a member of a replica set, if only of itself.

Why it matters: a standalone server has no oplog: no replica, no backup to a point in time, no transactions, no change
streams.

Remedy: Name a replica set, restart, then rs.initiate().

Risk: a restart; the oplog takes disk; clients should name the set.

References: MongoDB manual, Convert a Standalone to a Replica Set (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if facts.text("server.role") != "standalone":
        return None
    return Finding(
        says="The server stands alone: it has no oplog, so no replica and no backup to a point in time.",
        severity=Severity.ADVICE,
        fixes=(by_hand("replication.replSetName", "rs.initiate() // after replication.replSetName and a restart"),),
    )


RULE = Rule(
    id="MONGO008",
    title="There is a log of operations",
    topic="durability",
    check=check,
    source="MongoDB manual, Convert a Standalone to a Replica Set (2024)",
    good={"server.role": "primary"},
    bad={"server.role": "standalone"},
)
