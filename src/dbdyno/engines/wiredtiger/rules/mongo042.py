"""MONGO042: a member of the replica set is not well

What it checks: every member is reachable and in a working state, and there is a primary.

Why it matters: without a primary nothing is written; with a member down the next fault stops the set.

Remedy: See the member's own log; a member in RECOVERING for long has lost the oplog's window and is synced anew.

Risk: none by looking.

References: MongoDB manual, Replica Set Member States (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand, in_set
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("replication.ill_count"), facts.text("replication.ill_examples")
    primary = facts.flag("replication.has_primary")
    if not count and primary:
        return None
    return Finding(
        says=("" if primary else "The replica set has no primary. ") + (f"Not well: {examples}." if count else ""),
        severity=Severity.CRITICAL,
        fixes=(by_hand("replication", "rs.status()"),),
    )


RULE = Rule(
    id="MONGO042",
    title="All members are well, one is primary",
    topic="replication",
    check=check,
    source="MongoDB manual, Replica Set Member States (2024)",
    applies=in_set,
    good={
        "server.role": "primary",
        "replication.ill_count": 0,
        "replication.ill_examples": "",
        "replication.has_primary": True,
    },
    bad={
        "server.role": "primary",
        "replication.ill_count": 1,
        "replication.ill_examples": "db3:27017 is RECOVERING",
        "replication.has_primary": True,
    },
)
