"""PG104: Tables are mostly empty space

What it checks: No table larger than 20 MiB is estimated to take twice the space of its rows.

Why it matters: Scans read the empty space, and it takes memory. It is used again for new rows, but never given back by
plain VACUUM.

Remedy: First find why (PG052, PG053). Then pg_repack, or VACUUM FULL in a quiet hour.

Risk: VACUUM FULL locks the table and needs room for a second copy. The figure is an estimate from statistics.

References: PostgreSQL 15 manual, sections 25.1.2 and 55.10 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count = facts.number("schema.bloated_count")
    examples = facts.text("schema.bloated_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} tables are estimated to be more than half empty: {examples}.",
        severity=Severity.ADVICE,
        fixes=(by_hand("bloat", "VACUUM (FULL, VERBOSE) …; -- locks it; or pg_repack"),),
    )


RULE = Rule(
    id="PG104",
    title="Tables are mostly rows",
    topic="schema",
    check=check,
    source="PostgreSQL 15 manual, sections 25.1.2 and 55.10 (2022)",
    good={"schema.bloated_count": 0, "schema.bloated_examples": ""},
    bad={"schema.bloated_count": 2, "schema.bloated_examples": "public.queue"},
)
