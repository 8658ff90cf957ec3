"""PG106: Foreign keys have no index

What it checks: Every foreign key of a table of more than ten thousand rows has an index on its own side.

Why it matters: Deleting or changing a row of the other table reads this whole table, once for each row.

Remedy: Create an index that begins with its columns.

Risk: Each write keeps the new index.

References: PostgreSQL 15 manual, section 5.4.5 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count = facts.number("schema.foreign_key_unindexed_count")
    examples = facts.text("schema.foreign_key_unindexed_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} foreign keys have no index: {examples}.",
        severity=Severity.ADVICE,
        fixes=(by_hand("index", "CREATE INDEX CONCURRENTLY … ON … (…);"),),
    )


RULE = Rule(
    id="PG106",
    title="Foreign keys are indexed",
    topic="schema",
    check=check,
    source="PostgreSQL 15 manual, section 5.4.5 (2022)",
    good={"schema.foreign_key_unindexed_count": 0, "schema.foreign_key_unindexed_examples": ""},
    bad={
        "schema.foreign_key_unindexed_count": 2,
        "schema.foreign_key_unindexed_examples": "orders.orders_customer_fkey",
    },
)
