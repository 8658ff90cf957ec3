"""MY041: Every statement is logged

What it checks: general_log is off.

Why it matters: every statement, with passwords and data in it, goes into a file, one after the other: it costs speed
and fills the disk.

Remedy: switch it off; use the slow log, or performance_schema.

Risk: none.

References: MySQL 8.0 manual, 5.4.3 (2023).
"""

from dbdyno.engines._mysql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if not facts.flag("setting.general_log"):
        return None
    return Finding(says="general_log is on.", fixes=(setting(facts, "general_log", "OFF"),))


RULE = Rule(
    id="MY041",
    title="The general log is off",
    topic="logging",
    check=check,
    source="MySQL 8.0 manual, 5.4.3 (2023)",
    good={"setting.general_log": "OFF"},
    bad={"setting.general_log": "ON"},
)
