"""Advice for servers of the MySQL family converges and does not contradict itself: for any configuration and any
machine, all settings that the rules want are wanted once, and after they are made none is wanted again."""

from __future__ import annotations

import pytest
from convergence import require_convergence, wanted
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdyno.check.book import engine_rules
from dbdyno.engines._mysql.facts import derive
from dbdyno.engines.registry import engine_named
from dbdyno.model.fact import Scalar
from dbdyno.model.guard import level_of
from dbdyno.model.knob import Level
from dbdyno.model.machine import DiskClass, Machine

RULES = {name: engine_rules(name) for name in ("innodb", "myrocks")}
MIB, GIB, TIB = 1 << 20, 1 << 30, 1 << 40
FLAG = st.sampled_from(["ON", "OFF"])
SETTINGS: dict[str, st.SearchStrategy[Scalar]] = {
    "default_storage_engine": st.sampled_from(["InnoDB", "ROCKSDB"]),
    "innodb_buffer_pool_size": st.integers(5 * MIB, TIB),
    "innodb_buffer_pool_instances": st.integers(1, 64),
    "innodb_page_cleaners": st.integers(1, 64),
    "innodb_flush_log_at_trx_commit": st.sampled_from([0, 1, 2]),
    "innodb_doublewrite": st.sampled_from(["ON", "OFF", "DETECT_ONLY", "DETECT_AND_RECOVER"]),
    "innodb_flush_method": st.sampled_from(["fsync", "O_DIRECT", "O_DSYNC", "nosync", "O_DIRECT_NO_FSYNC", ""]),
    "innodb_checksum_algorithm": st.sampled_from(["crc32", "none", "strict_none", "full_crc32"]),
    "innodb_log_checksums": FLAG,
    "innodb_force_recovery": st.integers(0, 6),
    "innodb_fast_shutdown": st.integers(0, 2),
    "innodb_read_only": FLAG,
    "innodb_log_file_size": st.integers(4 * MIB, 64 * GIB),
    "innodb_log_files_in_group": st.integers(1, 4),
    "innodb_redo_log_capacity": st.integers(8 * MIB, 128 * GIB),
    "innodb_io_capacity": st.integers(100, 100_000),
    "innodb_io_capacity_max": st.integers(100, 100_000),
    "innodb_flush_neighbors": st.sampled_from([0, 1, 2]),
    "innodb_max_dirty_pages_pct": st.integers(0, 99),
    "innodb_adaptive_flushing": FLAG,
    "innodb_adaptive_hash_index": FLAG,
    "innodb_change_buffering": st.sampled_from(["none", "all", "inserts"]),
    "innodb_use_native_aio": FLAG,
    "innodb_thread_concurrency": st.integers(0, 64),
    "innodb_purge_threads": st.integers(1, 32),
    "innodb_deadlock_detect": FLAG,
    "innodb_lock_wait_timeout": st.integers(1, 10_000),
    "innodb_file_per_table": FLAG,
    "innodb_log_writer_threads": FLAG,
    "innodb_stats_on_metadata": FLAG,
    "innodb_stats_auto_recalc": FLAG,
    "innodb_stats_persistent": FLAG,
    "innodb_buffer_pool_dump_at_shutdown": FLAG,
    "innodb_buffer_pool_load_at_startup": FLAG,
    "innodb_autoinc_lock_mode": st.sampled_from([0, 1, 2]),
    "log_bin": FLAG,
    "sync_binlog": st.sampled_from([0, 1, 100]),
    "binlog_format": st.sampled_from(["ROW", "MIXED", "STATEMENT"]),
    "binlog_checksum": st.sampled_from(["CRC32", "NONE"]),
    "binlog_error_action": st.sampled_from(["ABORT_SERVER", "IGNORE_ERROR"]),
    "binlog_expire_logs_seconds": st.sampled_from([0, 86_400]),
    "expire_logs_days": st.sampled_from([0, 7]),
    "max_connections": st.integers(10, 10_000),
    "sort_buffer_size": st.integers(32_768, GIB),
    "join_buffer_size": st.integers(128, GIB),
    "read_buffer_size": st.integers(8192, 128 * MIB),
    "read_rnd_buffer_size": st.integers(8192, 128 * MIB),
    "thread_stack": st.just(299_008),
    "binlog_cache_size": st.integers(4096, 64 * MIB),
    "net_buffer_length": st.just(16_384),
    "key_buffer_size": st.integers(0, 16 * GIB),
    "tmp_table_size": st.integers(1024, GIB),
    "max_heap_table_size": st.integers(16_384, GIB),
    "thread_cache_size": st.integers(0, 200),
    "table_open_cache": st.integers(1, 20_000),
    "query_cache_type": st.sampled_from(["ON", "OFF", "DEMAND"]),
    "query_cache_size": st.integers(0, GIB),
    "slow_query_log": FLAG,
    "long_query_time": st.integers(0, 100),
    "general_log": FLAG,
    "performance_schema": FLAG,
    "sql_mode": st.sampled_from(["", "STRICT_TRANS_TABLES", "ANSI_QUOTES,NO_ENGINE_SUBSTITUTION", "TRADITIONAL"]),
    "wait_timeout": st.integers(1, 10_000_000),
    "foreign_key_checks": FLAG,
    "unique_checks": FLAG,
    "read_only": FLAG,
    "slave_skip_errors": st.sampled_from(["OFF", "1062", "all"]),
    "slave_exec_mode": st.sampled_from(["STRICT", "IDEMPOTENT"]),
    "replica_skip_errors": st.sampled_from(["OFF", "1062"]),
    "replica_exec_mode": st.sampled_from(["STRICT", "IDEMPOTENT"]),
    "local_infile": FLAG,
    "wsrep_on": FLAG,
    "pxc_strict_mode": st.sampled_from(["ENFORCING", "DISABLED"]),
    "rocksdb_flush_log_at_trx_commit": st.sampled_from([0, 1, 2]),
    "rocksdb_block_cache_size": st.integers(MIB, TIB),
    "rocksdb_wal_recovery_mode": st.integers(0, 3),
    "rocksdb_bulk_load": FLAG,
    "rocksdb_commit_in_the_middle": FLAG,
    "rocksdb_write_disable_wal": FLAG,
    "rocksdb_enable_2pc": FLAG,
    "rocksdb_paranoid_checks": FLAG,
    "rocksdb_master_skip_tx_api": FLAG,
    "innodb_log_compressed_pages": FLAG,
}
SEEN: dict[str, st.SearchStrategy[Scalar]] = {
    "server.version": st.sampled_from([50744, 80012, 80036, 80404, 1101119, 1110405]),
    "server.memory_limit_bytes": st.integers(256 * MIB, TIB),
    "server.cluster_bytes": st.integers(MIB, 4 * TIB),
    "server.role": st.sampled_from(["primary", "replica"]),
    "server.uptime_s": st.just(86_400),
    "replication.replicas_count": st.integers(0, 2),
    "contract.recovery_s_max": st.floats(10, 3600),
    "rate.innodb_os_log_written_per_s": st.floats(0, 500 * MIB),
    "status.innodb_adaptive_hash_hash_searches": st.integers(0, 10**9),
    "status.innodb_adaptive_hash_non_hash_searches": st.integers(0, 10**9),
    "status.innodb_buffer_pool_pages_dirty": st.just(10),
    "status.innodb_buffer_pool_pages_total": st.just(8191),
    "status.threads_created": st.integers(0, 10**6),
    "status.connections": st.just(10**6),
    "host.disk_rotational": st.booleans(),
    "host.cpu_count": st.integers(1, 128),
}
WORLD = st.fixed_dictionaries({**{f"setting.{name}": kind for name, kind in SETTINGS.items()}, **SEEN})
SIZE = Machine(memory_bytes=1 << 34, cores=4, disk=DiskClass.SSD)


def changes(engine: str, world: dict[str, Scalar]) -> dict[str, set[str]]:
    return wanted(RULES[engine], derive, world)


@pytest.mark.parametrize("engine", ["innodb", "myrocks"])
@settings(max_examples=80, deadline=None, derandomize=True)
@given(world=WORLD)
def test_advice_is_taken_once_and_is_of_one_mind(engine: str, world: dict[str, Scalar]) -> None:
    require_convergence(RULES[engine], derive, world)


@pytest.mark.parametrize("engine", ["innodb", "myrocks"])
@settings(max_examples=30, deadline=None, derandomize=True)
@given(world=WORLD)
def test_no_advice_weakens_durability(engine: str, world: dict[str, Scalar]) -> None:
    """Whatever of the contract's table is changed ends at the highest level, by that very table."""
    guards = engine_named(engine).knobs(SIZE, int(str(world["server.version"]))).guards
    guarded = {guard.setting for guard in guards if guard.levels}
    for name, values in changes(engine, world).items():
        for value in values if name in guarded else ():
            assert level_of({name: value}, [one for one in guards if one.setting == name]) is Level.L3, (name, value)


def test_the_property_can_fail() -> None:
    """The negative control: a world with much wrong has much advice."""
    world: dict[str, Scalar] = {
        "server.version": 80036,
        "setting.innodb_doublewrite": "OFF",
        "setting.log_bin": "ON",
        "setting.sync_binlog": 0,
        "setting.general_log": "ON",
    }
    assert changes("innodb", world) == {
        "innodb_doublewrite": {"ON"},
        "sync_binlog": {"1"},
        "general_log": {"OFF"},
    }
