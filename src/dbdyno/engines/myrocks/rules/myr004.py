"""MYR004: Writers were stopped or slowed

What it checks: no stop and at most ten slow-downs an hour for memtables, level 0 or pending compaction.

Why it matters: RocksDB slows or stops all writers when flush or compaction falls behind.

Remedy: memtables: a larger write_buffer_size or more flush threads; level 0 and pending bytes: more
rocksdb_max_background_jobs, higher triggers only as long as reads bear it.

Risk: more memory or more writing in the background.

References: RocksDB wiki, Write Stalls (2021); MariaDB manual, MyRocks Status Variables (2024).
"""

from dbdyno.engines._mysql.rules._setting import by_hand, exists
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    hours = max(facts.number("server.uptime_s") / 3600, 1.0)
    stops, slowed = (
        facts.number("status.rocksdb_stall_total_stops"),
        facts.number("status.rocksdb_stall_total_slowdowns"),
    )
    if stops == 0 and slowed <= 10 * hours:
        return None
    return Finding(
        says=f"Writers were stopped {stops:.0f} times and slowed {slowed:.0f} times in {hours:.0f} h.",
        fixes=(by_hand("rocksdb_max_background_jobs", "SHOW GLOBAL STATUS LIKE 'rocksdb_stall%'; -- says for what"),),
    )


RULE = Rule(
    id="MYR004",
    title="Writers are not slowed by compaction",
    topic="writing",
    check=check,
    source="RocksDB wiki, Write Stalls (2021); MariaDB manual, MyRocks Status Variables (2024)",
    applies=lambda facts: exists(facts, "rocksdb_block_cache_size"),
    good={"server.uptime_s": 3600, "status.rocksdb_stall_total_stops": 0, "status.rocksdb_stall_total_slowdowns": 0},
    bad={"server.uptime_s": 3600, "status.rocksdb_stall_total_stops": 5, "status.rocksdb_stall_total_slowdowns": 100},
)
