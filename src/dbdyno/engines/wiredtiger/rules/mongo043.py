"""MONGO043: an even number of members votes

What it checks: the number of voting members is odd and at least three.

Why it matters: an even number bears no more failures than one less, and a network split in halves leaves no primary.

Remedy: Add a member that holds data, or take one vote away.

Risk: a change of votes may start an election.

References: MongoDB manual, Replica Set Deployment Architectures (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand, in_set
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    voting = facts.number("replication.voting_count")
    if voting % 2 and voting >= 3:
        return None
    return Finding(
        says=f"{voting:.0f} members vote." + (" No failure is borne." if voting < 3 else ""),
        fixes=(by_hand("votes", "c = rs.conf(); c.members[N].votes = 0; c.members[N].priority = 0; rs.reconfig(c)"),),
    )


RULE = Rule(
    id="MONGO043",
    title="An odd number of members votes",
    topic="replication",
    check=check,
    source="MongoDB manual, Replica Set Deployment Architectures (2024)",
    applies=in_set,
    good={"server.role": "primary", "replication.voting_count": 3},
    bad={"server.role": "primary", "replication.voting_count": 4},
)
