"""INNO031: A transaction stays open for long

What it checks: the oldest transaction is younger than ten minutes.

Why it matters: it keeps its locks and every row version since its begin: purge stands still for the whole server.

Remedy: find the session (information_schema.INNODB_TRX, trx_mysql_thread_id) and end it; mend the program that
forgets to commit.

Risk: what it had changed is rolled back, which may take as long again.

References: MySQL 8.0 manual, 26.4.28 (2023).
"""

from dbdyno.engines._mysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    age, count = facts.number("status.oldest_transaction_s"), facts.number("status.transactions")
    if age < 600:
        return None
    return Finding(
        says=f"The oldest of {count:.0f} open transactions began {age / 60:.0f} minutes ago.",
        fixes=(
            by_hand(
                "transaction", "SELECT trx_mysql_thread_id, trx_started FROM information_schema.INNODB_TRX; KILL …;"
            ),
        ),
    )


RULE = Rule(
    id="INNO031",
    title="No transaction is forgotten open",
    topic="purge",
    check=check,
    source="MySQL 8.0 manual, 26.4.28 The INNODB_TRX Table (2023)",
    good={"status.oldest_transaction_s": 0, "status.transactions": 0},
    bad={"status.oldest_transaction_s": 7200, "status.transactions": 3},
)
