"""PG105: Sequences near their end

What it checks: No sequence has used three quarters of its own range or of its column's type.

Why it matters: At the end every insert fails. An integer column ends at 2,147,483,647, whatever its sequence allows.

Remedy: Make the column bigint.

Risk: ALTER TABLE … TYPE bigint rewrites the table under a lock; large tables need a second column and a switch.

References: PostgreSQL 15 manual, sections 8.1 and 9.17 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count = facts.number("schema.sequence_near_end_count")
    examples = facts.text("schema.sequence_near_end_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} sequences have used three quarters of their range: {examples}.",
        severity=Severity.CRITICAL,
        fixes=(by_hand("sequence", "ALTER TABLE … ALTER COLUMN … TYPE bigint;"),),
    )


RULE = Rule(
    id="PG105",
    title="No sequence is near its end",
    topic="schema",
    check=check,
    source="PostgreSQL 15 manual, sections 8.1 and 9.17 (2022)",
    good={"schema.sequence_near_end_count": 0, "schema.sequence_near_end_examples": ""},
    bad={"schema.sequence_near_end_count": 2, "schema.sequence_near_end_examples": "public.orders_id_seq"},
)
