"""PG057: Large tables were never analysed

What it checks: Every table of more than ten thousand rows has statistics.

Why it matters: Without statistics the planner guesses.

Remedy: ANALYZE them; after a load: vacuumdb --all --analyze-in-stages.

Risk: None.

References: Tuning PostgreSQL for sysbench-tpcc (Percona, 2018): VACUUM ANALYZE after the load; PostgreSQL 15 manual,
section 25.1.3 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("status.never_analysed_count"), facts.text("status.never_analysed_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} large tables were never analysed: {examples}.",
        fixes=(by_hand("analyze", "ANALYZE VERBOSE;"),),
    )


RULE = Rule(
    id="PG057",
    title="Large tables have statistics",
    topic="planner",
    check=check,
    source="Tuning PostgreSQL for sysbench-tpcc (Percona, 2018); PostgreSQL 15 manual, 25.1.3 (2022)",
    good={"status.never_analysed_count": 0, "status.never_analysed_examples": ""},
    bad={"status.never_analysed_count": 2, "status.never_analysed_examples": "public.big"},
)
