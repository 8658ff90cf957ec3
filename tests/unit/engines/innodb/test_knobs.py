"""Knobs, contract and formulas of InnoDB and MyRocks, over versions and vendors."""

from __future__ import annotations

import pytest

from dbdyno.engines.myrocks import families
from dbdyno.engines.registry import engine_named
from dbdyno.model.contract import Contract
from dbdyno.model.guard import breaches_of_all
from dbdyno.model.knob import Change, KnobSpace, Level
from dbdyno.model.machine import DiskClass, Machine
from dbdyno.tune.contract import judge, memory_bytes, needed, recovery_s
from dbdyno.tune.verdict import written

GIB = 1 << 30
VERSIONS = (50744, 80012, 80036, 80403, 90100, 1100500, 1100618, 1101119, 1110405)
BOTH = [("innodb", version) for version in VERSIONS] + [("myrocks", 80036), ("myrocks", 1101119)]
LOG_SIZES = {"innodb_log_file_size", "innodb_redo_log_capacity"}


def machine(
    *, memory: int = 16 * GIB, cores: int = 4, iops: float | None = None, dataset: int | None = None
) -> Machine:
    return Machine(
        memory_bytes=memory,
        cores=cores,
        disk=DiskClass.CLOUD if iops else DiskClass.SSD,
        disk_bytes_free=200 * GIB,
        iops=iops,
        dataset_bytes=dataset,
    )


def space_of(engine: str, version: int, of: Machine | None = None) -> KnobSpace:
    return engine_named(engine).knobs(of or machine(), version)


@pytest.mark.parametrize(("engine", "version"), BOTH)
@pytest.mark.parametrize("memory", [512 << 20, 2 * GIB, 512 * GIB])
@pytest.mark.parametrize("iops", [None, 100.0, 100_000.0])
def test_ranges_make_sense_on_every_machine(engine: str, version: int, memory: int, iops: float | None) -> None:
    space = space_of(engine, version, machine(memory=memory, iops=iops))
    assert len({knob.name for knob in space.knobs}) == len(space.knobs)
    for knob in space.knobs:
        assert knob.choices or (knob.low is not None and knob.high is not None), knob.name
        assert knob.source, knob.name
        if knob.low is not None and knob.high is not None:
            assert knob.low <= knob.high, knob.name
            assert knob.low > 0 or not knob.log, knob.name
        elif knob.choices:
            assert str(knob.default) in knob.choices, knob.name


@pytest.mark.parametrize(("engine", "version"), BOTH)
@pytest.mark.parametrize("of", [machine(), machine(memory=GIB, cores=1), machine(iops=3000.0, dataset=GIB)])
def test_the_formula_keeps_the_contract_and_says_why(engine: str, version: int, of: Machine) -> None:
    space = space_of(engine, version, of)
    found = engine_named(engine).advice(of, version)
    assert [one.name for one in found] == ["formula"]
    for advice in found:
        assert judge({**advice.assignment, **needed(space, Contract())}, space, Contract(), of) == []
        assert advice.reasons.keys() == advice.assignment.keys()
        assert all(space.knob(name) is not None for name in advice.assignment)
        assert memory_bytes(advice.assignment, space) <= 0.8 * of.memory_bytes
        estimate = recovery_s(advice.assignment, space)
        assert estimate is not None
        assert estimate <= 120


@pytest.mark.parametrize(
    ("version", "name", "change"),
    [
        (80012, "innodb_log_file_size", Change.RESTART),
        (80036, "innodb_redo_log_capacity", Change.ONLINE),
        (1100618, "innodb_log_file_size", Change.RESTART),
        (1101119, "innodb_log_file_size", Change.ONLINE),
    ],
)
def test_the_log_has_the_name_of_its_version_and_vendor(version: int, name: str, change: Change) -> None:
    space = space_of("innodb", version)
    assert {knob.name for knob in space.knobs} & LOG_SIZES == {name}
    knob = space.knob(name)
    assert knob is not None
    assert knob.change is change
    assert knob.recovery_bytes_per_unit == (2 if version < 80030 else 1)


def test_page_size_needs_a_new_server_and_is_not_searched() -> None:
    for version in VERSIONS:
        knob = space_of("innodb", version).knob("innodb_page_size")
        assert knob is not None
        assert (knob.change, knob.searched) == (Change.REBUILD, False)


STOCK = {
    "innodb_flush_log_at_trx_commit": "1", "sync_binlog": "1", "log_bin": "ON", "innodb_doublewrite": "ON",
    "innodb_flush_method": "O_DIRECT", "innodb_checksum_algorithm": "full_crc32", "binlog_format": "MIXED",
    "innodb_force_recovery": "0", "foreign_key_checks": "ON", "unique_checks": "ON", "innodb_purge_threads": "4",
    "innodb_stats_auto_recalc": "ON", "innodb_support_xa": "ON", "binlog_error_action": "ABORT_SERVER",
}  # fmt: skip


def broken(changes: dict[str, str], contract: Contract | None = None, engine: str = "innodb") -> set[str]:
    guards = space_of(engine, 1101119 if engine == "myrocks" else 80012).guards
    found = breaches_of_all({**STOCK, **changes}, guards, contract or Contract())
    return {breach.setting for breach in found}


def test_a_sound_configuration_breaks_nothing() -> None:
    assert broken({}) == set()


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("innodb_flush_log_at_trx_commit", "2"), ("innodb_flush_log_at_trx_commit", "0"), ("sync_binlog", "0"),
        ("sync_binlog", "100"), ("innodb_doublewrite", "OFF"), ("innodb_doublewrite", "DETECT_ONLY"),
        ("innodb_flush_method", "O_DIRECT_NO_FSYNC"), ("innodb_flush_method", "nosync"),
        ("innodb_flush_method", "littlesync"), ("innodb_checksum_algorithm", "none"), ("innodb_force_recovery", "1"),
        ("foreign_key_checks", "OFF"), ("unique_checks", "OFF"), ("innodb_support_xa", "OFF"), ("log_bin", "OFF"),
        ("binlog_format", "STATEMENT"), ("binlog_error_action", "IGNORE_ERROR"), ("innodb_purge_threads", "0"),
        ("innodb_stats_auto_recalc", "OFF"),
    ],
)  # fmt: skip
def test_each_unsafe_value_is_a_breach(setting: str, value: str) -> None:
    assert setting in broken({setting: value})


def test_without_a_binary_log_its_syncing_means_nothing() -> None:
    alone = Contract(pitr=False, replication=False)
    assert broken({"log_bin": "OFF", "sync_binlog": "0", "innodb_support_xa": "OFF"}, alone) == set()
    assert broken({"sync_binlog": "0"}, alone) == {"sync_binlog"}


def test_a_weaker_level_admits_what_loses_only_a_tail() -> None:
    level2 = Contract(level=Level.L2)
    assert broken({"innodb_flush_log_at_trx_commit": "2", "sync_binlog": "0"}, level2) == set()
    assert broken({"innodb_doublewrite": "OFF"}, level2) == {"innodb_doublewrite"}


def test_promises_of_the_log_are_asked_for() -> None:
    space = space_of("innodb", 1101119)
    assert needed(space, Contract()) == {"log_bin": "ON", "sync_binlog": "1"}
    assert needed(space, Contract(pitr=False, replication=False)) == {}


@pytest.mark.parametrize(
    ("setting", "value"),
    [("rocksdb_flush_log_at_trx_commit", "2"), ("rocksdb_write_disable_wal", "ON"), ("rocksdb_wal_recovery_mode", "3"),
     ("rocksdb_enable_2pc", "OFF"), ("rocksdb_bulk_load", "ON"), ("rocksdb_pause_background_work", "ON"),
     ("rocksdb_unsafe_for_binlog", "ON"), ("rocksdb_paranoid_checks", "OFF")],
)  # fmt: skip
def test_each_unsafe_value_of_the_other_engine_is_a_breach(setting: str, value: str) -> None:
    safe = {"ON": "OFF", "OFF": "ON", "2": "1", "3": "2"}[value]
    assert broken({setting: safe}, engine="myrocks") == set()
    assert broken({setting: value}, engine="myrocks") == {setting}


def test_a_log_whose_end_is_torn_must_not_keep_the_server_from_starting() -> None:
    space = space_of("myrocks", 1101119)
    assert needed(space, Contract())["rocksdb_wal_recovery_mode"] == 2
    assert broken({"rocksdb_wal_recovery_mode": "1"}, engine="myrocks") == {"rocksdb_wal_recovery_mode"}


def test_options_of_the_column_family_are_written_as_one() -> None:
    text, statements = engine_named("myrocks").render(
        {
            f"{families.TEXT}.write_buffer_size": 128 << 20,
            "rocksdb_max_background_jobs": 4,
            f"{families.TEXT}.compression": "kLZ4Compression",
        }
    )
    assert text.splitlines() == [
        'rocksdb_default_cf_options = "write_buffer_size=128m;compression=kLZ4Compression"',
        "rocksdb_max_background_jobs = 4",
    ]
    # The family's options are taken only at a start.
    assert statements == ["SET GLOBAL rocksdb_max_background_jobs = 4;"]


def test_options_of_the_column_family_are_read_back_by_the_same_names() -> None:
    rows = [("COMPRESSION_TYPE", "kLZ4Compression"), ("LEVEL_COMPACTION_DYNAMIC_LEVEL_BYTES", "ON"),
            ("TABLE_FACTORY::BLOCK_SIZE", "4096"), ("WRITE_BUFFER_SIZE", "67108864")]  # fmt: skip
    found = families.settings(rows)
    assert {name.partition(".")[2]: one.value for name, one in found.items()} == {
        "compression": "kLZ4Compression",
        "level_compaction_dynamic_level_bytes": "true",
        "write_buffer_size": "67108864",
    }


def test_a_winner_is_written_so_that_the_server_can_take_it() -> None:
    """Options of one family in one line: of several lines for one setting, a server heeds only the last."""
    winner = {
        f"{families.TEXT}.write_buffer_size": 128 << 20,
        "rocksdb_max_background_jobs": 4,
        f"{families.TEXT}.compression": "kLZ4Compression",
    }
    text, statements = written(
        winner=dict(winner),
        needed={"log_bin": "ON"},
        space=space_of("myrocks", 1101119),
        found={},
        render=engine_named("myrocks").render,
        name="s",
        proof="not proven, not run",
    )
    lines = [line.partition("#")[0].strip() for line in text.splitlines() if not line.startswith("#")]
    assert sorted(lines) == [
        "log-bin = binlog",
        'rocksdb_default_cf_options = "compression=kLZ4Compression;write_buffer_size=128m"',
        "rocksdb_max_background_jobs = 4",
    ]
    assert [one for one in statements if one.startswith("SET")] == [
        "SET GLOBAL rocksdb_max_background_jobs = 4; -- contribution not measured"
    ]
