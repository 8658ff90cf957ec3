"""MY033: Replicas without global transaction ids

What it checks: gtid_mode is ON with enforce_gtid_consistency where the server has or is a replica (MySQL; MariaDB
always has them).

Why it matters: without ids a replica can follow another source only by counting positions of files by hand, and a
mistake there loses or repeats transactions.

Remedy: enforce_gtid_consistency = ON, then gtid_mode step by step: OFF_PERMISSIVE, ON_PERMISSIVE, ON.

Risk: statements that mix engines or make tables in transactions are refused.

References: MySQL 8.0 manual, 17.1.4.2 (2023).
"""

from dbdyno.engines._mysql.rules._setting import by_hand, since
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    mode, enforced = facts.text("setting.gtid_mode"), facts.text("setting.enforce_gtid_consistency")
    copies = facts.text("server.role") == "replica" or facts.number("replication.replicas_count") > 0
    if not copies or (mode.upper() == "ON" and enforced.upper() in ("ON", "1")):
        return None
    return Finding(
        says=f"gtid_mode is {mode}, enforce_gtid_consistency is {enforced}, and there are replicas.",
        severity=Severity.ADVICE,
        fixes=(
            by_hand(
                "gtid_mode", "SET PERSIST enforce_gtid_consistency = ON; SET PERSIST gtid_mode = OFF_PERMISSIVE; …"
            ),
        ),
    )


RULE = Rule(
    id="MY033",
    title="Transactions have global ids",
    topic="replication",
    check=check,
    source="MySQL 8.0 manual, 17.1.4.2 (2023)",
    applies=lambda facts: since(facts, mysql=50700),
    good={
        "server.version": 80036,
        "server.role": "primary",
        "replication.replicas_count": 1,
        "setting.gtid_mode": "ON",
        "setting.enforce_gtid_consistency": "ON",
    },
    bad={
        "server.version": 80036,
        "server.role": "primary",
        "replication.replicas_count": 1,
        "setting.gtid_mode": "OFF",
        "setting.enforce_gtid_consistency": "OFF",
    },
)
