"""MYR003: Compaction is throttled too much

What it checks: rocksdb_rate_limiter_bytes_per_sec is 0 (no limit) or at least 16 MiB/s.

Why it matters: flushes and compactions that may not keep up pile files up in level 0 until writers are stopped.

Remedy: set it to 0, or above what two samples show as written.

Risk: background writes may compete with reads.

References: MariaDB manual, MyRocks System Variables (2024).
"""

from dbdyno.engines._mysql.rules._setting import MIB, by_hand, exists
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    limit = facts.number("setting.rocksdb_rate_limiter_bytes_per_sec")
    if limit == 0 or limit >= 16 * MIB:
        return None
    return Finding(
        says=f"Flush and compaction together may write {limit / MIB:.1f} MiB/s.",
        fixes=(by_hand("rocksdb_rate_limiter_bytes_per_sec", "SET GLOBAL rocksdb_rate_limiter_bytes_per_sec = …;"),),
    )


RULE = Rule(
    id="MYR003",
    title="The limit of background writes leaves room",
    topic="writing",
    check=check,
    source="MariaDB manual, MyRocks System Variables (2024)",
    applies=lambda facts: exists(facts, "rocksdb_block_cache_size"),
    good={"setting.rocksdb_rate_limiter_bytes_per_sec": 0},
    bad={"setting.rocksdb_rate_limiter_bytes_per_sec": 1048576},
)
