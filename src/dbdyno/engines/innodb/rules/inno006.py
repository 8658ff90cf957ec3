"""INNO006: Two-phase commit between binary log and engine is off

What it checks: innodb_support_xa is on, where the version still has it.

Why it matters: without it a crash can leave a transaction in the binary log that the engine does not have, or the
other way round: replicas and restored backups differ in silence.

Remedy: set it on; newer versions have no such switch.

Risk: none beside a flush that is needed anyway.

References: "Tuning for heavy writing workloads" (Percona, undated, MySQL 5.1) sets it off in a benchmark without a
binary log; MySQL 5.7 manual, 14.15 (2016).
"""

from dbdyno.engines._mysql.rules._setting import exists, setting, since
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if facts.flag("setting.innodb_support_xa"):
        return None
    return Finding(
        says="innodb_support_xa is off: after a crash, binary log and tables can disagree.",
        severity=Severity.CRITICAL,
        durability=Level.L3,
        fixes=(setting(facts, "innodb_support_xa", "ON"),),
    )


RULE = Rule(
    id="INNO006",
    title="Binary log and engine commit together",
    topic="durability",
    check=check,
    source="MySQL 5.7 manual, 14.15 (2016)",
    applies=lambda facts: exists(facts, "innodb_support_xa") and since(facts, mysql=50000, maria=50000, below=80000),
    good={"server.version": 50744, "setting.innodb_support_xa": "ON"},
    bad={"server.version": 50744, "setting.innodb_support_xa": "OFF"},
)
