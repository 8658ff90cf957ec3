"""Published formulas and how configurations are written down."""

from __future__ import annotations

import pytest

from dbdyno.engines.postgresql import formulas, units
from dbdyno.model.knob import Setting
from dbdyno.model.machine import DiskClass, Machine

GIB = 1024**3


def machine(**changes: object) -> Machine:
    fields: dict[str, object] = {"memory_bytes": 16 * GIB, "cores": 4, "disk": DiskClass.SSD, "connections": 300}
    return Machine(**{**fields, **changes})  # type: ignore[arg-type]


def test_pgtune_follows_the_published_rules() -> None:
    # Worked out by hand from PGTune's source of July 2026: PostgreSQL 17, Linux, OLTP, 16 GB, 4 cores, 300 connections,
    # SSD, data somewhat larger than memory. work_mem: (16 GB - 4 GB) / ((300 + 4) * 3).
    found = formulas.pgtune(machine(dataset_bytes=32 * GIB), 170000).assignment
    text = formulas.render(found)[0]
    for line in (
        "max_connections = 300", "shared_buffers = '4GB'", "effective_cache_size = '12GB'",
        "maintenance_work_mem = '1GB'", "checkpoint_completion_target = 0.9", "wal_buffers = '16MB'",
        "default_statistics_target = 100", "random_page_cost = 1.1", "effective_io_concurrency = 200",
        "work_mem = '13797kB'", "huge_pages = 'try'", "min_wal_size = '2GB'", "max_wal_size = '8GB'", "jit = 'off'",
        "wal_compression = 'lz4'", "max_worker_processes = 4", "max_parallel_workers_per_gather = 2",
        "max_parallel_workers = 4", "max_parallel_maintenance_workers = 2",
    ):  # fmt: skip
        assert line in text.splitlines()
    assert len(text.splitlines()) == 19


def test_the_formula_has_two_regimes_for_the_cache() -> None:
    fits = formulas.formula(machine(dataset_bytes=6 * GIB), 150000).assignment["shared_buffers"]
    larger = formulas.formula(machine(dataset_bytes=64 * GIB), 150000).assignment["shared_buffers"]
    assert fits == 9 * GIB // 8192
    assert larger == 4 * GIB // 8192


def test_the_formula_knows_old_versions_and_slow_volumes() -> None:
    old = formulas.formula(machine(iops=3000.0, disk=DiskClass.CLOUD), 140000).assignment
    assert old["wal_compression"] == "on"
    fast = formulas.formula(machine(), 140000).assignment
    assert float(old["max_wal_size"]) < float(fast["max_wal_size"])


def test_values_are_written_with_the_largest_whole_unit() -> None:
    text, statements = formulas.render(
        {"shared_buffers": 786432, "checkpoint_timeout": 90, "wal_buffers": -1, "commit_delay": 20, "jit": "off"}
    )
    assert text.splitlines() == [
        "shared_buffers = '6GB'", "checkpoint_timeout = '90s'", "wal_buffers = -1", "commit_delay = 20", "jit = 'off'",
    ]  # fmt: skip
    assert statements[0] == "ALTER SYSTEM SET shared_buffers = '6GB';"


@pytest.mark.parametrize(
    ("setting", "value", "same"),
    [
        (Setting(name="shared_buffers", value="16384", unit="8kB"), 16384, True),
        (Setting(name="shared_buffers", value="16384", unit="8kB"), 16385, False),
        (Setting(name="checkpoint_completion_target", value="0.9"), 0.9, True),
        (Setting(name="wal_buffers", value="512", unit="8kB", source="override"), -1, True),
        (Setting(name="autovacuum_vacuum_cost_limit", value="-1"), -1, True),
        (Setting(name="wal_compression", value="lz4"), "lz4", True),
        (Setting(name="wal_compression", value="off"), "lz4", False),
        (Setting(name="jit", value="off"), "off", True),
    ],
)
def test_what_is_read_back_is_compared_in_base_units(setting: Setting, value: int | float | str, same: bool) -> None:
    assert units.agrees(setting, value) is same
