"""GALERA005: nodes write the same rows

What it checks: fewer than one of a hundred transactions of this node failed at certification or was thrown back by
another node's.

Why it matters: the application sees deadlocks at COMMIT, and the work was for nothing.

Remedy: send the writes of a table, or all, to one node; repeat transactions on error 1213; wsrep_retry_autocommit for
single statements.

Risk: one node writes for all.

References: Galera Cluster manual, Dealing with Multi-Master Conflicts (2023)
"""

from dbdyno.engines._mysql.rules._setting import by_hand, exists
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    failed = facts.number("status.wsrep_local_cert_failures") + facts.number("status.wsrep_local_bf_aborts")
    done = facts.number("status.wsrep_local_commits")
    if failed < 100 or failed <= 0.01 * (done + failed):
        return None
    return Finding(
        says=f"{failed:.0f} transactions conflicted with other nodes, {failed / (done + failed):.1%} of this node's.",
        fixes=(
            by_hand("conflicts", "SET GLOBAL wsrep_log_conflicts = ON;", undo="SET GLOBAL wsrep_log_conflicts = OFF;"),
        ),
    )


RULE = Rule(
    id="GALERA005",
    title="Few transactions fail at certification",
    topic="cluster",
    check=check,
    source="Galera Cluster manual, Dealing with Multi-Master Conflicts (2023)",
    applies=lambda facts: exists(facts, "wsrep_on") and facts.flag("setting.wsrep_on"),
    good={
        "setting.wsrep_on": "ON",
        "status.wsrep_local_cert_failures": 3,
        "status.wsrep_local_bf_aborts": 2,
        "status.wsrep_local_commits": 100000,
    },
    bad={
        "setting.wsrep_on": "ON",
        "status.wsrep_local_cert_failures": 3000,
        "status.wsrep_local_bf_aborts": 2000,
        "status.wsrep_local_commits": 100000,
    },
)
