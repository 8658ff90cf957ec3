"""PG071: max_connections is very high

What it checks: max_connections is at most 1,000.

Why it matters: Each is a process with memory of its own, and far more active ones than processors make all of them
slower. The plan for memory must count them all.

Remedy: Put a pooler in front, and lower it to what the processors can serve, some tens for each.

Risk: A restart; clients beyond the limit are turned away.

References: PostgreSQL 15 manual, section 20.3 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    limit = facts.number("setting.max_connections")
    if limit <= 1000:
        return None
    return Finding(
        says=f"max_connections is {limit:.0f}.",
        fixes=(by_hand("max_connections", "ALTER SYSTEM SET max_connections = 200; -- behind a pooler, then restart"),),
    )


RULE = Rule(
    id="PG071",
    title="max_connections is moderate",
    topic="connections",
    check=check,
    source="PostgreSQL 15 manual, 20.3 (2022)",
    good={"setting.max_connections": 200},
    bad={"setting.max_connections": 5000},
)
