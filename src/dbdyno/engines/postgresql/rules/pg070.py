"""PG070: Connections are nearly used up

What it checks: At most 85 % of max_connections are in use.

Why it matters: The next peak is turned away.

Remedy: Use a pooler (PgBouncer, Pgcat), and close what is idle; more connections cost memory and snapshots.

Risk: A pooler changes what a session may keep.

References: PostgreSQL 15 manual, section 20.3 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    used, limit = facts.number("status.connections"), facts.number("setting.max_connections")
    if used <= 0.85 * limit:
        return None
    return Finding(
        says=f"{used:.0f} of {limit:.0f} connections are in use.",
        fixes=(by_hand("connections", "SELECT usename, state, count(*) FROM pg_stat_activity GROUP BY 1, 2;"),),
    )


RULE = Rule(
    id="PG070",
    title="There is room for more connections",
    topic="connections",
    check=check,
    source="PostgreSQL 15 manual, 20.3 (2022)",
    good={"status.connections": 20, "setting.max_connections": 100},
    bad={"status.connections": 96, "setting.max_connections": 100},
)
