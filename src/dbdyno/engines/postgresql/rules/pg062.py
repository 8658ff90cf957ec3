"""PG062: A replica is far behind

What it checks: No connected replica is more than 1 GiB of log behind.

Why it matters: A switch-over now would lose or wait for that much, and reads there are old.

Remedy: Look at the replica's disk, its conflicts and the network.

Risk: None.

References: PostgreSQL 15 manual, section 28.2.4 (2022)
"""

from dbdyno.engines.postgresql.memory import GIB
from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    lag, replicas = facts.number("replication.lag_bytes_max"), facts.number("replication.replicas_count")
    if lag < GIB:
        return None
    return Finding(
        says=f"A replica (of {replicas:.0f}) is {lag / GIB:.1f} GiB of log behind.",
        fixes=(by_hand("replication", "SELECT * FROM pg_stat_replication;"),),
    )


RULE = Rule(
    id="PG062",
    title="Replicas follow closely",
    topic="replication",
    check=check,
    source="PostgreSQL 15 manual, 28.2.4 (2022)",
    good={"replication.lag_bytes_max": 0, "replication.replicas_count": 1},
    bad={"replication.lag_bytes_max": 9000000000.0, "replication.replicas_count": 1},
)
