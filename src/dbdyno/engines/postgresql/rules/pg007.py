"""PG007: Tables are not logged

What it checks: No table of this database is UNLOGGED.

Why it matters: Such a table is emptied after a crash, and it is not there on replicas. That is right for what can be
made again, and for nothing else.

Remedy: Where the rows matter: ALTER TABLE … SET LOGGED.

Risk: SET LOGGED writes the whole table into the log and locks it for so long.

References: PostgreSQL 15 manual, CREATE TABLE (2022)
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("schema.unlogged_count"), facts.text("schema.unlogged_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} tables are unlogged and will be empty after a crash: {examples}.",
        fixes=(by_hand("unlogged", "ALTER TABLE … SET LOGGED;", undo="ALTER TABLE … SET UNLOGGED;"),),
    )


RULE = Rule(
    id="PG007",
    title="No table is emptied by a crash",
    topic="durability",
    check=check,
    source="PostgreSQL 15 manual, CREATE TABLE (2022)",
    good={"schema.unlogged_count": 0, "schema.unlogged_examples": ""},
    bad={"schema.unlogged_count": 2, "schema.unlogged_examples": "public.a, public.b"},
)
