"""VK031: Writes go on without any replica

What it checks: a primary with two replicas or more asks for at least one that keeps up (min-replicas-to-write).

Why it matters: a primary that is cut off goes on to acknowledge writes that are thrown away when another one has
taken its place.

Remedy: min-replicas-to-write 1, with min-replicas-max-lag 10: the loss is bounded by that lag.

Risk: when all replicas are away, writes are refused.

References: Valkey manual, Replication, "Allow writes only with N attached replicas" (2024).
"""

from dbdyno.engines.valkey.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    replicas, least = facts.number("replication.replicas_count"), facts.number("setting.min-replicas-to-write")
    if least:
        return None
    return Finding(
        says=f"There are {replicas:.0f} replicas, and min-replicas-to-write is 0.",
        severity=Severity.ADVICE,
        fixes=(
            by_hand(
                "min-replicas-to-write", "CONFIG SET min-replicas-to-write 1", undo="CONFIG SET min-replicas-to-write 0"
            ),
        ),
    )


RULE = Rule(
    id="VK031",
    title="A primary that is cut off stops writing",
    topic="replication",
    check=check,
    source="Valkey manual, Replication (2024)",
    applies=lambda facts: facts.number("replication.replicas_count") >= 2,
    good={"replication.replicas_count": 2, "setting.min-replicas-to-write": 1},
    bad={"replication.replicas_count": 2, "setting.min-replicas-to-write": 0},
)
