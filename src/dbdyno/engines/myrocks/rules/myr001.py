"""MYR001: A commit of MyRocks is not flushed

What it checks: rocksdb_flush_log_at_trx_commit is 1.

Why it matters: with 0 and 2 the write-ahead log is flushed once a second: a loss of power takes acknowledged
transactions with it.

Remedy: set it to 1.

Risk: each commit waits for the device.

References: MariaDB manual, MyRocks System Variables (2024).
"""

from dbdyno.engines._mysql.rules._setting import exists, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    value = facts.text("setting.rocksdb_flush_log_at_trx_commit")
    if value == "1":
        return None
    return Finding(
        says=f"rocksdb_flush_log_at_trx_commit is {value}: about a second of commits is lost with the power.",
        severity=Severity.CRITICAL,
        durability=Level.L3,
        fixes=(setting(facts, "rocksdb_flush_log_at_trx_commit", 1),),
    )


RULE = Rule(
    id="MYR001",
    title="Each commit of MyRocks is flushed",
    topic="durability",
    check=check,
    source="MariaDB manual, MyRocks System Variables (2024)",
    applies=lambda facts: exists(facts, "rocksdb_block_cache_size"),
    good={"setting.rocksdb_flush_log_at_trx_commit": 1},
    bad={"setting.rocksdb_flush_log_at_trx_commit": 2},
)
