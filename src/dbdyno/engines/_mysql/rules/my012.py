"""MY012: The binary log holds statements

What it checks: binlog_format is ROW or MIXED, and not STATEMENT with innodb_autoinc_lock_mode = 2.

Why it matters: statements can do something else on a replica (no ORDER BY, functions, triggers); with interleaved
auto-increments they certainly do.

Remedy: ROW.

Risk: more log for statements that change many rows.

References: "InnoDB Performance Optimization Basics" (Percona, 2023): lock mode 2 requires ROW or MIXED; MySQL 8.0
manual, 5.4.4.2 (2023).
"""

from dbdyno.engines._mysql.rules._setting import binary_log, exists, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    value = facts.text("setting.binlog_format").upper()
    if value in ("ROW", "MIXED"):
        return None
    mode = facts.text("setting.innodb_autoinc_lock_mode") if facts.has("setting.innodb_autoinc_lock_mode") else "?"
    return Finding(
        says=f"binlog_format is {value} (innodb_autoinc_lock_mode is {mode}): replicas can differ.",
        severity=Severity.CRITICAL if mode == "2" else Severity.WARNING,
        fixes=(setting(facts, "binlog_format", "ROW"),),
    )


RULE = Rule(
    id="MY012",
    title="The binary log holds rows",
    topic="replication",
    check=check,
    source="InnoDB Performance Optimization Basics (Percona, 2023); MySQL 8.0 manual, 5.4.4.2 (2023)",
    applies=lambda facts: binary_log(facts) and exists(facts, "binlog_format"),
    good={"setting.log_bin": "ON", "setting.binlog_format": "ROW"},
    bad={"setting.log_bin": "ON", "setting.binlog_format": "STATEMENT"},
)
