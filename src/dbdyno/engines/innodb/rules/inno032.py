"""INNO032: Deadlocks are not looked for

What it checks: innodb_deadlock_detect is on.

Why it matters: without it two sessions that wait for each other do so until innodb_lock_wait_timeout, with all their
locks.

Remedy: switch it on, unless very many threads on one row were measured to need it off and every program handles the
time-out.

Risk: the search costs under thousands of waiters for one row.

References: "InnoDB Performance Optimization Basics" (Percona, 2023): may be off for that case only.
"""

from dbdyno.engines._mysql.rules._setting import exists, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    wait = facts.number("setting.innodb_lock_wait_timeout")
    if facts.flag("setting.innodb_deadlock_detect"):
        return None
    return Finding(
        says=f"innodb_deadlock_detect is off: a deadlock lasts {wait:.0f} s.",
        fixes=(setting(facts, "innodb_deadlock_detect", "ON"),),
    )


RULE = Rule(
    id="INNO032",
    title="Deadlocks are detected",
    topic="locking",
    check=check,
    source="InnoDB Performance Optimization Basics (Percona, 2023)",
    applies=lambda facts: exists(facts, "innodb_deadlock_detect"),
    good={"setting.innodb_deadlock_detect": "ON", "setting.innodb_lock_wait_timeout": 50},
    bad={"setting.innodb_deadlock_detect": "OFF", "setting.innodb_lock_wait_timeout": 50},
)
