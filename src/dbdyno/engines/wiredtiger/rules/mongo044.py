"""MONGO044: an arbiter stands in for data

What it checks: no arbiter; above all not one primary, one secondary and one arbiter, and never two arbiters.

Why it matters: when a member that holds data is down, no majority can acknowledge: writes with majority wait, the
cache fills with what is not yet committed, and the default write concern is 1 for that reason.

Remedy: Put a member with data in the arbiter's place (it may be small, with priority 0).

Risk: disk and machine for one more copy.

References: MongoDB manual, Replica Set Arbiter and Mitigate Performance Issues with PSA (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand, in_set
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    arbiters, voting = facts.number("replication.arbiters_count"), facts.number("replication.voting_count")
    if not arbiters:
        return None
    return Finding(
        says=f"{arbiters:.0f} of {voting:.0f} voting members hold no data.",
        severity=Severity.WARNING if voting <= 3 or arbiters > 1 else Severity.ADVICE,
        fixes=(by_hand("arbiter", "rs.add('HOST:PORT'); rs.remove('ARBITER:PORT')"),),
    )


RULE = Rule(
    id="MONGO044",
    title="No arbiter stands in for data",
    topic="replication",
    check=check,
    source="MongoDB manual, Replica Set Arbiter (2024)",
    applies=in_set,
    good={"server.role": "primary", "replication.arbiters_count": 0, "replication.voting_count": 3},
    bad={"server.role": "primary", "replication.arbiters_count": 1, "replication.voting_count": 3},
)
