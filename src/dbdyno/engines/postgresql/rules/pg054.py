"""PG054: A prepared transaction was forgotten

What it checks: No prepared transaction is older than ten minutes.

Why it matters: It survives restarts, holds its locks, and keeps dead rows from being removed until the transaction
numbers run out.

Remedy: Ask its transaction manager; then COMMIT PREPARED or ROLLBACK PREPARED.

Risk: Deciding against the other participants makes the data differ.

References: PostgreSQL 15 manual, PREPARE TRANSACTION (2022)
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    oldest = facts.number("status.prepared_oldest_s")
    if oldest < 600:
        return None
    return Finding(
        says=f"A prepared transaction is {oldest / 60:.0f} minutes old.",
        severity=Severity.CRITICAL,
        fixes=(by_hand("prepared", "SELECT gid, prepared, owner FROM pg_prepared_xacts;"),),
    )


RULE = Rule(
    id="PG054",
    title="No prepared transaction is left over",
    topic="vacuum",
    check=check,
    source="PostgreSQL 15 manual, PREPARE TRANSACTION (2022)",
    good={"status.prepared_oldest_s": 0.0},
    bad={"status.prepared_oldest_s": 90000.0},
)
