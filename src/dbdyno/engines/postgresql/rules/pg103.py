"""PG103: Indexes are invalid

What it checks: Every index is valid.

Why it matters: A build that failed left it: it is kept by every write, and used by no query. A unique one protects
nothing.

Remedy: REINDEX INDEX CONCURRENTLY, or drop it.

Risk: None.

References: PostgreSQL 15 manual, CREATE INDEX (2022)
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count = facts.number("schema.index_invalid_count")
    examples = facts.text("schema.index_invalid_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} indexes are invalid: {examples}.",
        severity=Severity.WARNING,
        fixes=(by_hand("index", "REINDEX INDEX CONCURRENTLY …;"),),
    )


RULE = Rule(
    id="PG103",
    title="Every index is valid",
    topic="schema",
    check=check,
    source="PostgreSQL 15 manual, CREATE INDEX (2022)",
    good={"schema.index_invalid_count": 0, "schema.index_invalid_examples": ""},
    bad={"schema.index_invalid_count": 2, "schema.index_invalid_examples": "public.a_idx"},
)
