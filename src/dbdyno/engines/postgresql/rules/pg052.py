"""PG052: Autovacuum does not keep up

What it checks: No table has more than twice the dead rows at which autovacuum should begin.

Why it matters: Scans read the dead rows too, indexes grow, and the space is not used again.

Remedy: Look for what holds rows alive (long transactions, slots); then let autovacuum work faster:
autovacuum_vacuum_cost_limit = 1000 or more, more workers, smaller scale factors for large tables.

Risk: More reading and writing in the background.

References: Tuning PostgreSQL for sysbench-tpcc (Percona, 2018): scale factor 0.4 in its benchmark; PostgreSQL 15
manual, section 25.1 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("status.dead_rows_count"), facts.text("status.dead_rows_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} tables have far more dead rows than autovacuum should leave: {examples}.",
        fixes=(by_hand("dead_rows", "VACUUM (ANALYZE, VERBOSE) …;"),),
    )


RULE = Rule(
    id="PG052",
    title="Autovacuum keeps up with dead rows",
    topic="vacuum",
    check=check,
    source="PostgreSQL 15 manual, 25.1 (2022)",
    good={"status.dead_rows_count": 0, "status.dead_rows_examples": ""},
    bad={"status.dead_rows_count": 3, "status.dead_rows_examples": "public.orders"},
)
