"""MY024: Tables are opened again and again

What it checks: fewer than ten tables a second are opened after the first hour, or the cache of tables is not full.

Why it matters: each opening reads the definition, takes a global lock and two file descriptors.

Remedy: double table_open_cache, and see that the limit of open files allows it.

Risk: file descriptors and some memory.

References: MySQL 8.0 manual, 8.4.3.1 (2023).
"""

from dbdyno.engines._mysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    opened, held = facts.number("status.opened_tables"), facts.number("status.open_tables")
    uptime, size = facts.number("server.uptime_s"), facts.number("setting.table_open_cache")
    if uptime < 3600 or opened / uptime < 10 or held < 0.9 * size:
        return None
    return Finding(
        says=f"{opened / uptime:.0f} tables a second are opened; all {size:.0f} places of table_open_cache are taken.",
        fixes=(by_hand("table_open_cache", f"SET GLOBAL table_open_cache = {2 * size:.0f};"),),
    )


RULE = Rule(
    id="MY024",
    title="Open tables stay open",
    topic="connections",
    check=check,
    source="MySQL 8.0 manual, 8.4.3.1 (2023)",
    good={
        "status.opened_tables": 500,
        "status.open_tables": 400,
        "server.uptime_s": 86400,
        "setting.table_open_cache": 2000,
    },
    bad={
        "status.opened_tables": 5000000,
        "status.open_tables": 2000,
        "server.uptime_s": 86400,
        "setting.table_open_cache": 2000,
    },
)
