"""MY044: Time-outs are of no use

What it checks: wait_timeout lies between 30 seconds and a day, innodb_lock_wait_timeout is at most ten minutes.

Why it matters: sessions that are gone keep their place and their transaction until the time-out; one of a few seconds
cuts pools off.

Remedy: wait_timeout = 28800, innodb_lock_wait_timeout = 50, the defaults.

Risk: clients that sleep for longer have to connect again.

References: MySQL 8.0 manual, 5.1.8 and 15.14 (2023).
"""

from dbdyno.engines._mysql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Fix, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    idle, lock = facts.number("setting.wait_timeout"), facts.number("setting.innodb_lock_wait_timeout")
    fixes: tuple[Fix, ...] = () if 30 <= idle <= 86400 else (setting(facts, "wait_timeout", 28800),)
    fixes += (setting(facts, "innodb_lock_wait_timeout", 50),) if lock > 600 else ()
    if not fixes:
        return None
    return Finding(
        says=f"wait_timeout is {idle:.0f} s, innodb_lock_wait_timeout is {lock:.0f} s.",
        severity=Severity.ADVICE,
        fixes=fixes,
    )


RULE = Rule(
    id="MY044",
    title="Time-outs are sensible",
    topic="connections",
    check=check,
    source="MySQL 8.0 manual, 5.1.8 (2023)",
    good={"setting.wait_timeout": 28800, "setting.innodb_lock_wait_timeout": 50},
    bad={"setting.wait_timeout": 2000000, "setting.innodb_lock_wait_timeout": 50},
)
