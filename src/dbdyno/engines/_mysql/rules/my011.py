"""MY011: The binary log is not flushed with each commit

What it checks: sync_binlog is 1 where there is a binary log.

Why it matters: at recovery the binary log decides which prepared transactions count. Its lost tail takes commits with
it and leaves replicas with transactions that the primary does not have.

Remedy: set it to 1.

Risk: each commit waits for one flush more; group commit shares it.

References: MySQL 8.0 manual, 17.1.6.4 (2023): 1 is the default since 5.7.7; MariaDB still has 0 by default, which the
manual calls unsafe with a binary log (2024).
"""

from dbdyno.engines._mysql.rules._setting import binary_log, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    value = facts.number("setting.sync_binlog")
    if value == 1:
        return None
    return Finding(
        says=f"sync_binlog is {value:.0f}: a loss of power takes the end of the binary log with it.",
        severity=Severity.CRITICAL,
        durability=Level.L3,
        fixes=(setting(facts, "sync_binlog", 1),),
    )


RULE = Rule(
    id="MY011",
    title="The binary log is flushed with each commit",
    topic="durability",
    check=check,
    source="MySQL 8.0 manual, 17.1.6.4 (2023); MariaDB manual, sync_binlog (2024)",
    applies=binary_log,
    good={"setting.log_bin": "ON", "setting.sync_binlog": 1},
    bad={"setting.log_bin": "ON", "setting.sync_binlog": 0},
)
