"""INNO025: There are fewer page cleaners than pool instances

What it checks: innodb_page_cleaners is not below innodb_buffer_pool_instances, up to 4.

Why it matters: one cleaner for many instances cannot flush them at the same time: writing is bound by one thread.

Remedy: as many as instances, at most 4 to begin with.

Risk: a restart.

References: "InnoDB Performance Optimization Basics" (Percona, 2023): raise them when flushing bounds the writes and
the hardware has room.
"""

from dbdyno.engines._mysql.memory import instances_meant
from dbdyno.engines._mysql.rules._setting import setting, since
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    cleaners, parts = facts.number("setting.innodb_page_cleaners"), facts.number("setting.innodb_buffer_pool_instances")
    wanted = int(min(instances_meant(facts) if facts.has("setting.innodb_buffer_pool_size") else parts, 4))
    if cleaners >= wanted:
        return None
    return Finding(
        says=f"{cleaners:.0f} page cleaner for {parts:.0f} pool instances.",
        severity=Severity.ADVICE,
        fixes=(setting(facts, "innodb_page_cleaners", wanted),),
    )


RULE = Rule(
    id="INNO025",
    title="Each pool instance has a page cleaner",
    topic="writing",
    check=check,
    source="InnoDB Performance Optimization Basics (Percona, 2023)",
    applies=lambda facts: since(facts, mysql=50704),
    good={"server.version": 80036, "setting.innodb_page_cleaners": 4, "setting.innodb_buffer_pool_instances": 8},
    bad={"server.version": 80036, "setting.innodb_page_cleaners": 1, "setting.innodb_buffer_pool_instances": 4},
)
