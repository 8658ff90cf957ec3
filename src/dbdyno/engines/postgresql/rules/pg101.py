"""PG101: Indexes are there twice

What it checks: No two indexes of a table are the same.

Why it matters: Each write keeps both, each takes memory, and one serves nobody.

Remedy: Drop one of each pair (not one that a constraint needs).

Risk: Make sure which one a constraint or hint names.

References: PostgreSQL 15 manual, section 11.12 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count = facts.number("schema.index_duplicate_count")
    examples = facts.text("schema.index_duplicate_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} pairs of indexes are the same: {examples}.",
        severity=Severity.ADVICE,
        fixes=(by_hand("index", "DROP INDEX CONCURRENTLY …;"),),
    )


RULE = Rule(
    id="PG101",
    title="No index is there twice",
    topic="schema",
    check=check,
    source="PostgreSQL 15 manual, section 11.12 (2022)",
    good={"schema.index_duplicate_count": 0, "schema.index_duplicate_examples": ""},
    bad={"schema.index_duplicate_count": 2, "schema.index_duplicate_examples": "a_idx = a_idx1"},
)
