"""PG100: Tables have no primary key

What it checks: Every table of this database has a primary key.

Why it matters: Logical replication cannot update or delete such rows, tools cannot compare or repair them, and doubles
cannot be told apart.

Remedy: Add one, on a column that is there or on a new one.

Risk: Building it locks the table; build a unique index CONCURRENTLY first.

References: PostgreSQL 15 manual, sections 5.4.4 and 31.1 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count = facts.number("schema.no_primary_key_count")
    examples = facts.text("schema.no_primary_key_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} tables have no primary key: {examples}.",
        severity=Severity.WARNING,
        fixes=(by_hand("primary_key", "ALTER TABLE … ADD PRIMARY KEY (…);"),),
    )


RULE = Rule(
    id="PG100",
    title="Every table has a primary key",
    topic="schema",
    check=check,
    source="PostgreSQL 15 manual, sections 5.4.4 and 31.1 (2022)",
    good={"schema.no_primary_key_count": 0, "schema.no_primary_key_examples": ""},
    bad={"schema.no_primary_key_count": 2, "schema.no_primary_key_examples": "public.a, public.b"},
)
