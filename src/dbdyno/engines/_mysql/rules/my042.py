"""MY042: Nothing measures waits

What it checks: performance_schema is on.

Why it matters: without it nobody can tell afterwards which statements and which waits took the time.

Remedy: switch it on, unless a measurement shows that its cost is too high for you.

Risk: a restart, and memory: about 100 to 400 MB with many tables.

References: MySQL 8.0 manual, chapter 27 (2023): on by default; MariaDB manual (2024): off by default.
"""

from dbdyno.engines._mysql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if facts.flag("setting.performance_schema"):
        return None
    return Finding(
        says="performance_schema is off.",
        severity=Severity.ADVICE,
        fixes=(setting(facts, "performance_schema", "ON"),),
    )


RULE = Rule(
    id="MY042",
    title="performance_schema is on",
    topic="logging",
    check=check,
    source="MySQL 8.0 manual, 27.1 (2023)",
    good={"setting.performance_schema": "ON"},
    bad={"setting.performance_schema": "OFF"},
)
