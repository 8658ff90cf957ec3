"""INNO012: The number of buffer pool instances does not fit

What it checks: a pool of 8 GiB or more has more than one instance, and no instance has less than 128 MiB.

Why it matters: with one instance every thread takes the same latch; tiny instances waste it and evict unevenly.

Remedy: start with 8 for pools of 8 GiB and more, and one below 1 GiB.

Risk: a restart.

References: "InnoDB Performance Optimization Basics" (Percona, 2023): start at 8 and test; MySQL 8.0 manual, 15.8.3.2
(2023): at least 1 GiB each.
"""

from dbdyno.engines._mysql.memory import instances_meant
from dbdyno.engines._mysql.rules._setting import GIB, setting, since
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    pool, parts = facts.number("setting.innodb_buffer_pool_size"), facts.number("setting.innodb_buffer_pool_instances")
    wanted = int(instances_meant(facts))
    if parts == wanted:
        return None
    return Finding(
        says=f"{parts:.0f} instances for a pool of {pool / GIB:.2f} GiB.",
        severity=Severity.ADVICE,
        fixes=(setting(facts, "innodb_buffer_pool_instances", wanted),),
    )


RULE = Rule(
    id="INNO012",
    title="Buffer pool instances fit the pool",
    topic="memory",
    check=check,
    source="InnoDB Performance Optimization Basics (Percona, 2023)",
    applies=lambda facts: since(facts, mysql=50700),
    good={
        "server.version": 80036,
        "setting.innodb_buffer_pool_size": 17179869184,
        "setting.innodb_buffer_pool_instances": 8,
    },
    bad={
        "server.version": 80036,
        "setting.innodb_buffer_pool_size": 17179869184,
        "setting.innodb_buffer_pool_instances": 1,
    },
)
