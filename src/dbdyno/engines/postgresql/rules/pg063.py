"""PG063: Commits wait for a replica that is not there

What it checks: Where synchronous_standby_names is set, a synchronous replica is connected.

Why it matters: Every commit waits for it, without end.

Remedy: Bring the replica back, or take it out of synchronous_standby_names knowingly: commits are then safe on one
machine only.

Risk: Without it an acknowledged transaction is on one machine.

References: PostgreSQL 15 manual, section 27.2.8 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    names, there = facts.text("setting.synchronous_standby_names"), facts.number("replication.sync_replicas_count")
    if not names.strip() or there:
        return None
    return Finding(
        says=f"synchronous_standby_names is {names!r}, and no such replica is connected: commits hang.",
        severity=Severity.CRITICAL,
        fixes=(by_hand("synchronous_standby_names", "SELECT application_name, sync_state FROM pg_stat_replication;"),),
    )


RULE = Rule(
    id="PG063",
    title="Synchronous replicas are connected",
    topic="replication",
    check=check,
    source="PostgreSQL 15 manual, 27.2.8 (2022)",
    good={"setting.synchronous_standby_names": "", "replication.sync_replicas_count": 0},
    bad={"setting.synchronous_standby_names": "standby1", "replication.sync_replicas_count": 0},
)
