"""Advice converges and does not contradict itself: for any configuration and any machine, all settings that the rules
want are wanted once, and after they are made none is wanted again."""

from __future__ import annotations

from convergence import require_convergence, wanted
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdyno.check.book import engine_rules
from dbdyno.engines.postgresql.facts import derive
from dbdyno.model.fact import Scalar

RULES = engine_rules("postgresql")
MIB, GIB, TIB = 1 << 20, 1 << 30, 1 << 40
FLAG = st.sampled_from(["on", "off"])
SETTINGS: dict[str, st.SearchStrategy[Scalar]] = {
    "shared_buffers": st.integers(16, TIB // 8192),
    "work_mem": st.integers(64, GIB // 1024),
    "maintenance_work_mem": st.integers(1024, 64 * GIB // 1024),
    "autovacuum_work_mem": st.sampled_from([-1, 65536, 16 * GIB // 1024]),
    "autovacuum_max_workers": st.integers(1, 20),
    "max_connections": st.integers(1, 10_000),
    "effective_cache_size": st.integers(1, TIB // 8192),
    "max_wal_size": st.integers(2, 1_000_000),
    "checkpoint_timeout": st.integers(30, 86_400),
    "checkpoint_completion_target": st.floats(0, 1),
    "wal_compression": FLAG,
    "wal_buffers": st.integers(4, 262_143),
    "random_page_cost": st.floats(0, 10),
    "effective_io_concurrency": st.integers(0, 1000),
    "default_statistics_target": st.integers(1, 10_000),
    "autovacuum": FLAG,
    "track_counts": FLAG,
    "autovacuum_vacuum_cost_delay": st.integers(0, 100),
    "fsync": FLAG,
    "zero_damaged_pages": FLAG,
    "ignore_invalid_pages": FLAG,
    "ignore_system_indexes": FLAG,
    "session_replication_role": st.sampled_from(["origin", "local", "replica"]),
    "recovery_init_sync_method": st.sampled_from(["fsync", "syncfs"]),
    "full_page_writes": FLAG,
    "synchronous_commit": st.sampled_from(["on", "off", "local", "remote_apply"]),
    "wal_sync_method": st.sampled_from(["fdatasync", "fsync", "open_sync", "fsync_writethrough"]),
    "huge_pages": st.sampled_from(["on", "off", "try"]),
    "log_checkpoints": FLAG,
    "log_lock_waits": FLAG,
    "log_temp_files": st.sampled_from([-1, 0, 10240]),
    "log_autovacuum_min_duration": st.sampled_from([-1, 0, 600_000]),
    "log_statement": st.sampled_from(["none", "ddl", "mod", "all"]),
    "log_min_duration_statement": st.sampled_from([-1, 0, 1000]),
    "log_line_prefix": st.sampled_from(["", "%m [%p] ", "%u"]),
    "log_destination": st.sampled_from(["stderr", "syslog", "csvlog"]),
    "shared_preload_libraries": st.sampled_from(["", "auto_explain", "pg_stat_statements"]),
    "idle_in_transaction_session_timeout": st.sampled_from([0, 60_000]),
    "max_slot_wal_keep_size": st.sampled_from([-1, 1024]),
    "password_encryption": st.sampled_from(["md5", "scram-sha-256"]),
    "wal_level": st.sampled_from(["minimal", "replica", "logical"]),
    "max_wal_senders": st.integers(0, 20),
}
SEEN: dict[str, st.SearchStrategy[Scalar]] = {
    "server.version": st.sampled_from([130000, 150018, 180004]),
    "server.memory_limit_bytes": st.integers(256 * MIB, TIB),
    "server.cluster_bytes": st.integers(MIB, 4 * TIB),
    "server.statements_installed": st.booleans(),
    "contract.recovery_s_max": st.floats(10, 3600),
    "status.wal_bytes_per_s_mean": st.floats(0, 500 * MIB),
    "status.wal_stats_age_s": st.sampled_from([10, 86_400]),
    "status.wal_bytes": st.just(10**12),
    "status.wal_buffers_full": st.integers(0, 10**7),
    "status.temp_bytes_per_s_mean": st.floats(0, 100 * MIB),
    "status.database_stats_age_s": st.just(86_400),
    "replication.slots_count": st.integers(0, 3),
    "host.disk_rotational": st.booleans(),
    "host.virtualised": st.just(False),
}
WORLD = st.fixed_dictionaries(
    {**{f"setting.{name}": kind for name, kind in SETTINGS.items()}, **SEEN},
)


def changes(world: dict[str, Scalar]) -> dict[str, set[str]]:
    return wanted(RULES, derive, world)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(WORLD)
def test_advice_is_taken_once_and_is_of_one_mind(world: dict[str, Scalar]) -> None:
    require_convergence(RULES, derive, world)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(WORLD)
def test_no_advice_weakens_durability(world: dict[str, Scalar]) -> None:
    """The settings of the contract's table are only ever moved to what keeps everything."""
    safe = dict.fromkeys(("fsync", "full_page_writes", "synchronous_commit", "autovacuum", "track_counts"), "on")
    safe |= {"wal_level": "replica", "max_wal_senders": "10", "wal_sync_method": "fdatasync"}
    for name, values in changes(world).items():
        assert name not in safe or values == {safe[name]}


def test_the_property_can_fail() -> None:
    """The negative control: a world with everything wrong has much advice."""
    world: dict[str, Scalar] = {"setting.fsync": "off", "setting.checkpoint_completion_target": 0.1}
    assert changes(world) == {"fsync": {"on"}, "checkpoint_completion_target": {"0.9"}}
