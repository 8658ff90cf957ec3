"""VK034: A replica lags or copies

What it checks: all replicas are online and were heard of within ten seconds.

Why it matters: what a replica has not got is lost when it takes the primary's place.

Remedy: look at its network, its disk and its log; a whole copy that comes again and again wants a larger backlog and
buffer.

Risk: none.

References: Valkey manual, INFO, replication (2024).
"""

from dbdyno.engines.valkey.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule

LAG_S_MAX = 10


def check(facts: Facts) -> Finding | None:
    lag_s, away = facts.number("replication.lag_s_max"), facts.number("replication.not_online_count")
    if lag_s <= LAG_S_MAX and not away:
        return None
    return Finding(
        says=f"{away:.0f} replicas are not online; the longest silence is {lag_s:.0f} s.",
        fixes=(by_hand("replication", "INFO replication; read the replica's log"),),
    )


RULE = Rule(
    id="VK034",
    title="Replicas keep up",
    topic="replication",
    check=check,
    source="Valkey manual, INFO and Replication (2024)",
    applies=lambda facts: facts.number("replication.replicas_count") > 0,
    good={"replication.replicas_count": 1, "replication.lag_s_max": 1, "replication.not_online_count": 0},
    bad={"replication.replicas_count": 1, "replication.lag_s_max": 100, "replication.not_online_count": 0},
)
