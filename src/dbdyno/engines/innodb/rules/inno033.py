"""INNO033: Admission of threads is limited

What it checks: innodb_thread_concurrency is 0.

Why it matters: a limit that once helped an old machine makes sessions of a newer one wait in a queue of the engine
while processors are idle.

Remedy: 0; only where contention is measured, two for each processor plus one for each disk.

Risk: none.

References: "InnoDB Performance Optimization Basics" (Percona, 2023) gives both: 0, the engine decides, and 2 x
processors + disks. Resolved: 0 unless contention is seen.
"""

from dbdyno.engines._mysql.rules._setting import exists, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    value = facts.number("setting.innodb_thread_concurrency")
    if value == 0:
        return None
    return Finding(
        says=f"innodb_thread_concurrency is {value:.0f}: more sessions than that wait in a queue.",
        severity=Severity.ADVICE,
        fixes=(setting(facts, "innodb_thread_concurrency", 0),),
    )


RULE = Rule(
    id="INNO033",
    title="InnoDB admits threads itself",
    topic="locking",
    check=check,
    source="InnoDB Performance Optimization Basics (Percona, 2023)",
    applies=lambda facts: exists(facts, "innodb_thread_concurrency"),
    good={"setting.innodb_thread_concurrency": 0},
    bad={"setting.innodb_thread_concurrency": 8},
)
