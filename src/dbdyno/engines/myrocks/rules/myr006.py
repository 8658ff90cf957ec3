"""MYR006: The log of MyRocks may not be readable after a loss of power

What it checks: rocksdb_wal_recovery_mode is 2 (or 0).

Why it matters: 1, the default, demands a log without any torn end: after a loss of power the server may refuse to
start. 3 skips what is corrupt and goes on behind it: changes are lost in the middle.

Remedy: 2: the log is replayed up to the first record that is not whole. With flushed commits nothing that was
acknowledged lies behind it.

Risk: none seen; a log that is damaged in the middle is cut there, so compare with the binary log after such an
accident.

References: RocksDB wiki, WAL Recovery Modes (2021); the power-loss proof of this project,
docs/reference/crash-proof.md (2026), saw a server that would not start with 1.
"""

from dbdyno.engines._mysql.rules._setting import exists, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    mode = facts.text("setting.rocksdb_wal_recovery_mode")
    if mode in ("0", "2"):
        return None
    return Finding(
        says=f"rocksdb_wal_recovery_mode is {mode}: after a loss of power "
        + ("the server may refuse to start." if mode == "1" else "damage of the log is skipped."),
        severity=Severity.WARNING if mode == "1" else Severity.CRITICAL,
        durability=Level.L3,
        fixes=(setting(facts, "rocksdb_wal_recovery_mode", 2),),
    )


RULE = Rule(
    id="MYR006",
    title="The log of MyRocks is recovered to its last whole record",
    topic="durability",
    check=check,
    source="RocksDB wiki, WAL Recovery Modes (2021)",
    applies=lambda facts: exists(facts, "rocksdb_block_cache_size"),
    good={"setting.rocksdb_wal_recovery_mode": 2},
    bad={"setting.rocksdb_wal_recovery_mode": 1},
)
