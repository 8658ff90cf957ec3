"""PG056: Autovacuum is slowed down too much

What it checks: autovacuum_vacuum_cost_delay is at most 10 ms.

Why it matters: With the old 20 ms a worker touches a few megabytes a second: a large table is never done.

Remedy: 2 ms, the default since version 12.

Risk: More reading and writing in the background.

References: PostgreSQL 12 release notes (2019); PostgreSQL 15 manual, section 20.10 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    delay = facts.number("setting.autovacuum_vacuum_cost_delay")
    if delay <= 10:
        return None
    return Finding(
        says=f"Autovacuum sleeps {delay:g} ms after each few pages.",
        fixes=(setting(facts, "autovacuum_vacuum_cost_delay", 2),),
    )


RULE = Rule(
    id="PG056",
    title="Autovacuum may work fast enough",
    topic="vacuum",
    check=check,
    source="PostgreSQL 15 manual, 20.10 (2022)",
    good={"setting.autovacuum_vacuum_cost_delay": 2},
    bad={"setting.autovacuum_vacuum_cost_delay": 50},
)
