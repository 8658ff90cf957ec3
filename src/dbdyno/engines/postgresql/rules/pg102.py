"""PG102: Indexes are never used

What it checks: With a month of statistics, every index larger than 1 MiB that is not unique was used.

Why it matters: Each write keeps it, vacuum reads it, and it takes memory.

Remedy: Look on the replicas too (statistics are those of one server); then drop it.

Risk: A yearly report may need it.

References: PostgreSQL 15 manual, section 28.2 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

MONTH_S = 30 * 86400


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("schema.index_unused_count"), facts.text("schema.index_unused_examples")
    age = facts.number("status.database_stats_age_s")
    if not count or age < MONTH_S:
        return None
    return Finding(
        says=f"{count:.0f} indexes were not used in {age / 86400:.0f} days: {examples}.",
        severity=Severity.ADVICE,
        fixes=(by_hand("index", "DROP INDEX CONCURRENTLY …;"),),
    )


RULE = Rule(
    id="PG102",
    title="Every index is used",
    topic="schema",
    check=check,
    source="PostgreSQL 15 manual, 28.2 (2022)",
    good={"schema.index_unused_count": 0, "schema.index_unused_examples": "", "status.database_stats_age_s": 3000000.0},
    bad={
        "schema.index_unused_count": 3,
        "schema.index_unused_examples": "public.a_idx",
        "status.database_stats_age_s": 3000000.0,
    },
)
