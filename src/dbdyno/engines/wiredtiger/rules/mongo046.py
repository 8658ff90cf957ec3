"""MONGO046: a delayed member votes

What it checks: no member with a delay has a vote.

Why it matters: a majority that needs it waits for its whole delay.

Remedy: votes: 0, priority: 0 and hidden for a delayed member.

Risk: the number of votes changes: keep it odd.

References: MongoDB manual, Delayed Replica Set Members (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand, in_set
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, names = facts.number("replication.delayed_voting_count"), facts.text("replication.delayed_voting_examples")
    if not count:
        return None
    return Finding(
        says=f"Delayed members vote: {names}.",
        fixes=(by_hand("votes", "c = rs.conf(); c.members[N].votes = 0; rs.reconfig(c)"),),
    )


RULE = Rule(
    id="MONGO046",
    title="Delayed members do not vote",
    topic="replication",
    check=check,
    source="MongoDB manual, Delayed Replica Set Members (2024)",
    applies=in_set,
    good={"server.role": "primary", "replication.delayed_voting_count": 0, "replication.delayed_voting_examples": ""},
    bad={
        "server.role": "primary",
        "replication.delayed_voting_count": 1,
        "replication.delayed_voting_examples": "db4:27017",
    },
)
