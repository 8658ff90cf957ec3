"""PG055: Autovacuum is off for single tables

What it checks: No table has autovacuum_enabled = off.

Why it matters: Its dead rows stay, and nobody remembers why it was switched off.

Remedy: ALTER TABLE … RESET (autovacuum_enabled).

Risk: Vacuum of that table begins.

References: PostgreSQL 15 manual, CREATE TABLE, storage parameters (2022)
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("schema.autovacuum_off_count"), facts.text("schema.autovacuum_off_examples")
    if not count:
        return None
    return Finding(
        says=f"Autovacuum is switched off for {count:.0f} tables: {examples}.",
        fixes=(by_hand("autovacuum_enabled", "ALTER TABLE … RESET (autovacuum_enabled);"),),
    )


RULE = Rule(
    id="PG055",
    title="Autovacuum is on for every table",
    topic="vacuum",
    check=check,
    source="PostgreSQL 15 manual, CREATE TABLE (2022)",
    good={"schema.autovacuum_off_count": 0, "schema.autovacuum_off_examples": ""},
    bad={"schema.autovacuum_off_count": 1, "schema.autovacuum_off_examples": "public.queue"},
)
