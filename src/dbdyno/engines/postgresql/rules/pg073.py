"""PG073: No connection is kept for the administrator

What it checks: superuser_reserved_connections is at least 1.

Why it matters: When all are in use nobody can come in to see why.

Remedy: 3, the default.

Risk: A restart.

References: PostgreSQL 15 manual, section 20.3 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if facts.number("setting.superuser_reserved_connections") >= 1:
        return None
    return Finding(
        says="superuser_reserved_connections is 0: when all connections are used, nobody can look.",
        fixes=(setting(facts, "superuser_reserved_connections", 3),),
    )


RULE = Rule(
    id="PG073",
    title="A connection is kept for the administrator",
    topic="connections",
    check=check,
    source="PostgreSQL 15 manual, 20.3 (2022)",
    good={"setting.superuser_reserved_connections": 3},
    bad={"setting.superuser_reserved_connections": 0},
)
