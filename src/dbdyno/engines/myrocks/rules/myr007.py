"""MYR007: A switch of MyRocks gives safety up

What it checks: the log is not switched off (rocksdb_write_disable_wal), binary log and engine commit together
(rocksdb_enable_2pc), no write goes through a memory map (rocksdb_allow_mmap_writes), damage is looked for and not
passed over (rocksdb_paranoid_checks, rocksdb_allow_to_start_after_corruption, rocksdb_ignore_datadic_errors), and rows
are written with their locks and indexes (rocksdb_blind_delete_primary_key, rocksdb_master_skip_tx_api).

Why it matters: each was made for a load, a repair or a bench. In daily work it loses acknowledged rows with the next
loss of power, or lets tables and indexes part without a word.

Remedy: the value that the server ships with.

Risk: what was bought with it: loads and deletes take longer.

References: MariaDB manual, MyRocks System Variables (2024); RocksDB wiki, Basic Operations and Two Phase Commit
Implementation (2021).
"""

from dbdyno.engines._mysql.rules._setting import exists, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule

KEPT = {
    "rocksdb_write_disable_wal": "OFF",
    "rocksdb_enable_2pc": "ON",
    "rocksdb_allow_mmap_writes": "OFF",
    "rocksdb_paranoid_checks": "ON",
    "rocksdb_allow_to_start_after_corruption": "OFF",
    "rocksdb_ignore_datadic_errors": "OFF",
    "rocksdb_blind_delete_primary_key": "OFF",
    "rocksdb_master_skip_tx_api": "OFF",
}
_NUMBERS = {"rocksdb_ignore_datadic_errors": "0"}
"""What is a number and no switch."""
_FOR_BINARY_LOG = "rocksdb_enable_2pc"


def check(facts: Facts) -> Finding | None:
    wrong = [
        name for name, kept in KEPT.items() if exists(facts, name) and facts.flag(f"setting.{name}") != (kept == "ON")
    ]
    if facts.has("setting.log_bin") and not facts.flag("setting.log_bin"):
        wrong = [name for name in wrong if name != _FOR_BINARY_LOG]
    if not wrong:
        return None
    chosen = ", ".join(f"{name} = {facts.value(f'setting.{name}')}" for name in wrong)
    return Finding(
        says=f"Safety is given up by {chosen}.",
        severity=Severity.CRITICAL,
        durability=Level.L3,
        fixes=tuple(setting(facts, name, _NUMBERS.get(name, KEPT[name])) for name in wrong),
    )


RULE = Rule(
    id="MYR007",
    title="No switch of MyRocks gives safety up",
    topic="durability",
    check=check,
    source="MariaDB manual, MyRocks System Variables (2024)",
    applies=lambda facts: exists(facts, "rocksdb_block_cache_size"),
    good={f"setting.{name}": kept for name, kept in KEPT.items()},
    bad={f"setting.{name}": kept for name, kept in KEPT.items()} | {"setting.rocksdb_write_disable_wal": "ON"},
)
