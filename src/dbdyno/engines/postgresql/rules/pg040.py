"""PG040: random_page_cost does not fit the disk

What it checks: random_page_cost is below 2 on solid-state disks and at least 2 on rotating ones.

Why it matters: With 4, the default, the planner takes a random page for four times as dear as the next one, and reads
whole tables where an index would serve.

Remedy: 1.1 on solid-state disks, 4 on rotating ones.

Risk: Plans change; watch the slowest queries.

References: Tuning PostgreSQL for sysbench-tpcc (Percona, 2018): 1 on fast disks or in memory, keep it on rotating
ones; PostgreSQL 15 manual, section 20.7 (2022). A virtual disk that calls itself rotating is not believed.
"""

from dbdyno.engines.postgresql.rules._disk import rotating
from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    cost, rotates = facts.number("setting.random_page_cost"), rotating(facts)
    if (cost >= 2) == rotates:
        return None
    return Finding(
        says=f"random_page_cost is {cost:g} on a {'rotating' if rotates else 'solid-state'} disk.",
        severity=Severity.ADVICE,
        fixes=(setting(facts, "random_page_cost", "4" if rotates else "1.1"),),
    )


RULE = Rule(
    id="PG040",
    title="random_page_cost fits the disk",
    topic="planner",
    check=check,
    source="Tuning PostgreSQL for sysbench-tpcc (Percona, 2018); PostgreSQL 15 manual, 20.7 (2022)",
    good={"host.disk_rotational": False, "host.virtualised": False, "setting.random_page_cost": 1.1},
    bad={"host.disk_rotational": False, "host.virtualised": False, "setting.random_page_cost": 4},
)
