"""PG053: Old transactions hold everything alive

What it checks: No transaction is older than an hour, and none has been idle for ten minutes.

Why it matters: No row that died since its beginning can be removed anywhere in the cluster, and locks that it holds
block others.

Remedy: Find the session in pg_stat_activity and end it; set idle_in_transaction_session_timeout against the next one.

Risk: The transaction is rolled back.

References: PostgreSQL 15 manual, sections 25.1 and 20.11 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule

OLD_S = 3600
IDLE_S = 600


def check(facts: Facts) -> Finding | None:
    oldest, idle = facts.number("status.transaction_oldest_s"), facts.number("status.idle_in_transaction_oldest_s")
    if oldest < OLD_S and idle < IDLE_S:
        return None
    return Finding(
        says=f"The oldest transaction is {oldest / 60:.0f} minutes old; one has been idle for {idle / 60:.0f} minutes.",
        fixes=(by_hand("transaction", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE …;"),),
    )


RULE = Rule(
    id="PG053",
    title="No transaction is very old",
    topic="vacuum",
    check=check,
    source="PostgreSQL 15 manual, 25.1 (2022)",
    good={"status.transaction_oldest_s": 2.0, "status.idle_in_transaction_oldest_s": 0.0},
    bad={"status.transaction_oldest_s": 90000.0, "status.idle_in_transaction_oldest_s": 0.0},
)
