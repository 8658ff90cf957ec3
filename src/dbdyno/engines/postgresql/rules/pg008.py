"""PG008: The log cannot feed a replica

What it checks: wal_level is replica or logical, and max_wal_senders is not 0.

Why it matters: With minimal neither a replica nor a restored backup can be built from the log. The article uses it
while loading and goes back for the run.

Remedy: Set wal_level = replica and max_wal_senders = 10, the defaults.

Risk: More log is written by bulk loads.

References: Tuning PostgreSQL for sysbench-tpcc (Percona, 2018); PostgreSQL 15 manual, section 20.5 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Fix
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    level, senders = facts.text("setting.wal_level"), facts.number("setting.max_wal_senders")
    fixes: tuple[Fix, ...] = (setting(facts, "wal_level", "replica"),) if level == "minimal" else ()
    fixes += (setting(facts, "max_wal_senders", 10),) if senders == 0 else ()
    if not fixes:
        return None
    return Finding(
        says=f"wal_level = {level}, max_wal_senders = {senders:.0f}: no replica and no point-in-time recovery.",
        fixes=fixes,
    )


RULE = Rule(
    id="PG008",
    title="The log is fit for replicas and backups",
    topic="durability",
    check=check,
    source="PostgreSQL 15 manual, 20.5 (2022); Tuning PostgreSQL for sysbench-tpcc (Percona, 2018)",
    good={"setting.wal_level": "replica", "setting.max_wal_senders": 10},
    bad={"setting.wal_level": "minimal", "setting.max_wal_senders": 0},
)
