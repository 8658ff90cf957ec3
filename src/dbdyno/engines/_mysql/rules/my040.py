"""MY040: Slow statements are not logged

What it checks: slow_query_log is on with a long_query_time of at most 10 seconds.

Why it matters: when the server is slow, the log is what tells which statement it was.

Remedy: switch it on with the default of ten seconds, lower it as you like.

Risk: some disk; the log needs rotation.

References: MySQL 8.0 manual, 5.4.5 (2023).
"""

from dbdyno.engines._mysql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Fix, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    on, seconds = facts.flag("setting.slow_query_log"), facts.number("setting.long_query_time")
    fixes: tuple[Fix, ...] = () if on else (setting(facts, "slow_query_log", "ON"),)
    fixes += (setting(facts, "long_query_time", 10),) if seconds > 10 else ()
    if not fixes:
        return None
    return Finding(
        says=f"slow_query_log is {'on' if on else 'off'}, long_query_time is {seconds:g} s.",
        severity=Severity.ADVICE,
        fixes=fixes,
    )


RULE = Rule(
    id="MY040",
    title="Slow statements are logged",
    topic="logging",
    check=check,
    source="MySQL 8.0 manual, 5.4.5 (2023)",
    good={"setting.slow_query_log": "ON", "setting.long_query_time": 2},
    bad={"setting.slow_query_log": "OFF", "setting.long_query_time": 10},
)
