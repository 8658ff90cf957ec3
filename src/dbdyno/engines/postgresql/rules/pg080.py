"""PG080: The log does not tell what matters

What it checks: log_checkpoints, log_lock_waits, log_temp_files and log_autovacuum_min_duration are on.

Why it matters: They cost a line now and then, and answer the first questions after a bad night: checkpoints, locks,
sorts on disk, vacuum.

Remedy: Switch them on.

Risk: A few more lines in the log.

References: Tuning PostgreSQL for sysbench-tpcc (Percona, 2018): log_checkpoints; PostgreSQL 15 manual, section 20.8
(2022)
"""

from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    wanted: dict[str, str | int] = {}
    for name in ("log_checkpoints", "log_lock_waits"):
        if not facts.flag(f"setting.{name}"):
            wanted[name] = "on"
    for name, number in (("log_temp_files", 10240), ("log_autovacuum_min_duration", 600000)):
        if facts.number(f"setting.{name}") < 0:
            wanted[name] = number
    if not wanted:
        return None
    return Finding(
        says=f"The log says nothing of what these would: {', '.join(wanted)}.",
        severity=Severity.ADVICE,
        fixes=tuple(setting(facts, name, value) for name, value in wanted.items()),
    )


RULE = Rule(
    id="PG080",
    title="The log tells of checkpoints, locks, temporary files and vacuum",
    topic="logging",
    check=check,
    source="Tuning PostgreSQL for sysbench-tpcc (Percona, 2018); PostgreSQL 15 manual, 20.8 (2022)",
    good={
        "setting.log_checkpoints": "on",
        "setting.log_lock_waits": "on",
        "setting.log_temp_files": 10240,
        "setting.log_autovacuum_min_duration": 600000,
    },
    bad={
        "setting.log_checkpoints": "off",
        "setting.log_lock_waits": "off",
        "setting.log_temp_files": -1,
        "setting.log_autovacuum_min_duration": -1,
    },
)
