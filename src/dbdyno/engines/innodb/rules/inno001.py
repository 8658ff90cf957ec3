"""INNO001: A commit is not flushed

What it checks: innodb_flush_log_at_trx_commit is 1 (or 3, MariaDB's stricter form).

Why it matters: with 0 and 2 the log is flushed once a second: a loss of power takes acknowledged transactions of
about a second with it, and with a binary log the two disagree afterwards.

Remedy: set it to 1. Where commits are too slow then, look at the device (a protected write cache) and at group
commit.

Risk: each commit waits for the device; slow disks show it.

References: "Tuning for heavy writing workloads" (Percona, undated, MySQL 5.1) takes 2 in a benchmark; "InnoDB
Performance Optimization Basics" (Percona, 2023) names 1 as the only one with full durability. 2 is refused here
whatever it gains.
"""

from dbdyno.engines._mysql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    value = facts.text("setting.innodb_flush_log_at_trx_commit")
    if value in ("1", "3"):
        return None
    return Finding(
        says=f"innodb_flush_log_at_trx_commit is {value}: a second of commits is lost with the power.",
        severity=Severity.CRITICAL,
        durability=Level.L3,
        fixes=(setting(facts, "innodb_flush_log_at_trx_commit", 1),),
    )


RULE = Rule(
    id="INNO001",
    title="Each commit is flushed to the disk",
    topic="durability",
    check=check,
    source="InnoDB Performance Optimization Basics (Percona, 2023); MySQL 8.0 manual, 15.14 (2023)",
    good={"setting.innodb_flush_log_at_trx_commit": 1},
    bad={"setting.innodb_flush_log_at_trx_commit": 2},
)
