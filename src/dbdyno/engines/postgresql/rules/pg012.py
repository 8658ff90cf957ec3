"""PG012: The order of texts has changed under the indexes

What it checks: Each database's collation version is the one that the system has now.

Why it matters: After an update of the C library or of ICU texts may sort differently. Indexes built before are then
wrong: rows are not found, and unique constraints let doubles in.

Remedy: Rebuild the indexes on texts (REINDEX DATABASE), then ALTER DATABASE … REFRESH COLLATION VERSION.

Risk: REINDEX locks each table against writing, or takes twice as long CONCURRENTLY.

References: PostgreSQL 15 manual, section 24.2 and ALTER DATABASE (2022)
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    changed = facts.number("server.collations_changed_count")
    if not changed:
        return None
    return Finding(
        says=f"The collation of {changed:.0f} databases has changed since their indexes were built.",
        severity=Severity.CRITICAL,
        fixes=(by_hand("collation", "REINDEX DATABASE …; ALTER DATABASE … REFRESH COLLATION VERSION;"),),
    )


RULE = Rule(
    id="PG012",
    title="Indexes agree with the system's collations",
    topic="durability",
    check=check,
    applies=lambda facts: facts.number("server.version") >= 150000,
    source="PostgreSQL 15 manual, 24.2 (2022)",
    good={"server.version": 150000, "server.collations_changed_count": 0},
    bad={"server.version": 150000, "server.collations_changed_count": 1},
)
