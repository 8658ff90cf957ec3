"""The contract, on the real knob file of the one engine that has one, and on small made-up spaces."""

from __future__ import annotations

import msgspec
import pytest
from simulated import SPACE

from dbdyno.engines.registry import engine_named
from dbdyno.model.contract import Contract
from dbdyno.model.knob import KnobSpace, Level, Setting
from dbdyno.model.machine import DiskClass, Machine
from dbdyno.tune import contract as contracts

GIB = 1024**3
MACHINE = Machine(memory_bytes=24 * GIB, cores=2, disk=DiskClass.CLOUD, disk_bytes_free=40 * GIB, iops=3000.0)
ENGINE = engine_named("postgresql")
VERSIONS = [130000, 140000, 150018, 160014, 170000, 180004]


def space(version: int = 150018) -> KnobSpace:
    return ENGINE.knobs(MACHINE, version)


def effective(**changes: str) -> dict[str, Setting]:
    values = {
        "fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "wal_sync_method": "fdatasync",
        "data_sync_retry": "off", "zero_damaged_pages": "off", "ignore_checksum_failure": "off", "wal_level": "replica",
        "max_wal_senders": "10", "archive_mode": "on", "archive_command": "cp %p /archive/%f", "archive_library": "",
        "autovacuum": "on", "track_counts": "on",
    }  # fmt: skip
    return {name: Setting(name=name, value=value) for name, value in {**values, **changes}.items()}


@pytest.mark.parametrize(
    ("setting", "value", "level"),
    [
        ("fsync", "off", Level.L0),
        ("full_page_writes", "off", Level.L0),
        ("synchronous_commit", "off", Level.L2),
        ("data_sync_retry", "on", Level.L0),
        ("wal_sync_method", "fsync_writethrough", Level.L0),
        ("zero_damaged_pages", "on", Level.L0),
        ("ignore_checksum_failure", "on", Level.L0),
    ],
)
def test_unsafe_values_break_every_level_above_theirs(setting: str, value: str, level: Level) -> None:
    for asked in Level:
        contract = Contract(level=asked)
        broken = {breach.setting for breach in contracts.judge({setting: value}, space(), contract, MACHINE)}
        read = {
            breach.setting for breach in contracts.judge_effective(effective(**{setting: value}), space(), contract)
        }
        assert (setting in broken) == (asked > level)
        assert (setting in read) == (asked > level)


@pytest.mark.parametrize(
    ("changes", "promise"),
    [
        ({"archive_mode": "off"}, "pitr"),
        ({"archive_command": ""}, "pitr"),
        ({"archive_command": "/bin/true"}, "pitr"),
        ({"wal_level": "minimal"}, "pitr"),
        ({"wal_level": "minimal"}, "replication"),
        ({"max_wal_senders": "0"}, "replication"),
        ({"autovacuum": "off"}, "maintenance"),
        ({"track_counts": "off"}, "maintenance"),
    ],
)
def test_promises_beside_durability(changes: dict[str, str], promise: str) -> None:
    only = {"pitr": False, "replication": False, "maintenance": False, promise: True}
    assert contracts.judge_effective(effective(**changes), space(), Contract(**only))
    without = {**only, promise: False}
    assert not contracts.judge_effective(effective(**changes), space(), Contract(**without))


def test_a_server_that_keeps_everything_breaks_nothing() -> None:
    assert contracts.judge_effective(effective(), space(), Contract()) == []
    library = effective(archive_command="", archive_library="basic_archive")
    assert contracts.judge_effective(library, space(), Contract()) == []


def test_unknown_settings_are_never_asked_for() -> None:
    breaches = contracts.judge({"enable_seqscan": "off"}, space(), Contract(), MACHINE)
    assert [breach.setting for breach in breaches] == ["enable_seqscan"]


@pytest.mark.parametrize("version", VERSIONS)
def test_defaults_formulas_and_ranges_keep_the_default_contract(version: int) -> None:
    contract = Contract()
    whole = space(version)
    needed = contracts.needed(whole, contract)
    assert needed == {"archive_mode": "on", "wal_level": "replica"}
    assert contracts.judge(needed, whole, contract, MACHINE) == []
    for advice in ENGINE.advice(MACHINE, version):
        assert contracts.judge({**needed, **advice.assignment}, whole, contract, MACHINE) == [], advice.name
        assert set(advice.reasons) == set(advice.assignment)
    narrow = contracts.narrow(whole, contract, MACHINE)
    searched = [knob for knob in narrow.knobs if knob.searched]
    assert 10 <= len(searched) <= 14
    for knob in searched:
        assert not knob.name.startswith("enable_")
        assert knob.source
        for end in (knob.low, knob.high):
            value = None if end is None else int(end) if knob.integer else end
            if value is not None:
                assert knob.admits(value)
                assert contracts.judge({knob.name: value}, narrow, contract, MACHINE) == [], knob.name


def test_memory_and_recovery_bound_the_sum() -> None:
    contract = Contract(memory_bytes_max=8 * GIB)
    greedy = {"shared_buffers": 900_000, "work_mem": 40_000}
    breaches = contracts.judge(greedy, space(), contract, MACHINE)
    assert breaches
    assert "8.0 GiB" in breaches[0].needs
    repaired = contracts.repair(greedy, space(), contract, MACHINE)
    assert contracts.judge(repaired, space(), contract, MACHINE) == []
    assert repaired["work_mem"] == 40_000
    hasty = Contract(recovery_s_max=10.0)
    slow = {"max_wal_size": 8192, "checkpoint_timeout": 3600}
    assert contracts.judge(slow, space(), hasty, MACHINE)
    assert contracts.judge(contracts.repair(slow, space(), hasty, MACHINE), space(), hasty, MACHINE) == []


def test_what_the_build_lacks_is_not_asked_for() -> None:
    settings = {knob.name: Setting(name=knob.name, value="0") for knob in space().knobs if knob.name != "jit"}
    settings["wal_compression"] = Setting(name="wal_compression", value="off", choices=("pglz", "on", "off"))
    fitted = contracts.fit_to_server(space(), settings)
    assert fitted.knob("jit") is None
    compression = fitted.knob("wal_compression")
    assert compression is not None
    assert compression.choices == ("off", "pglz")
    kept, left_out = contracts.fit_assignment({"wal_compression": "lz4", "jit": "off", "commit_delay": 0}, fitted)
    assert kept == {"commit_delay": 0}
    assert len(left_out) == 2
    kept, _ = contracts.fit_assignment({"shared_buffers": 20000, "commit_delay": 0}, fitted, restart=False)
    assert kept == {"commit_delay": 0}


def test_a_space_as_found_has_the_owners_values_as_defaults() -> None:
    found = contracts.as_found(space(), {"max_wal_size": Setting(name="max_wal_size", value="4096")})
    knob = found.knob("max_wal_size")
    assert knob is not None
    assert knob.default == 4096


def test_what_a_small_machine_plans_for_by_default_is_no_breach() -> None:
    small = msgspec.structs.replace(MACHINE, memory_bytes=GIB // 4)
    assert contracts.judge({}, space(), Contract(), small) == []
    raised = {"work_mem": 40_000}
    assert contracts.judge(raised, space(), Contract(), small)
    assert contracts.judge(contracts.repair(raised, space(), Contract(), small), space(), Contract(), small) == []
    # A buffer that the server sizes by itself counts once it has a number.
    assert contracts.judge({"wal_buffers": 128}, space(), Contract(), small) == []
    # What the owner says holds, whatever the defaults are.
    assert contracts.judge({}, space(), Contract(memory_bytes_max=GIB // 4), small)


def test_special_values_take_no_memory() -> None:
    assert contracts.memory_bytes({"delay": 0}, SPACE) == contracts.memory_bytes({}, SPACE)
