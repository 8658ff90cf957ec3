"""The store of sorted files holds writers back: for which of its three reasons is named first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from explain_mysql import first, label, running, server
from explain_tools import Load, explained, grave, keep
from test_explain_mysql_disk import SMALL_TABLES, clients, spill
from test_explain_mysql_pages import TABLE

from dbdyno.model.plan import WorkloadSpec
from dbdyno.sandbox.options import Disk, SandboxOptions
from dbdyno.sandbox.sandbox import Sandbox

CHANGES = WorkloadSpec(name="heavy_update", options={"reads_per_write": "0"})
DISK = SandboxOptions(disk=Disk.EXT4, iops=1000, size_bytes=3 << 30)
FULL = pytest.mark.engines_full
_NO_LEVEL0 = "level0_slowdown_writes_trigger=1000;level0_stop_writes_trigger=1000"


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    with server("mariadb+rocksdb", DISK, CHANGES) as box:
        yield box


@pytest.mark.parametrize(
    ("cause", "how", "family", "settings"),
    [
        pytest.param(
            "level0-files", "level 0 slows writers from 3 files of 1 MiB on, compaction writes 8 MiB a second",
            "write_buffer_size=1m;max_write_buffer_number=8;level0_file_num_compaction_trigger=2;"
            "level0_slowdown_writes_trigger=3;level0_stop_writes_trigger=5",
            {"rocksdb_max_background_jobs": 2, "rocksdb_rate_limiter_bytes_per_sec": 8 << 20},
        ),
        pytest.param(
            "memtables-full", "two memtables of 64 KiB, one background job",
            f"write_buffer_size=64k;max_write_buffer_number=2;{_NO_LEVEL0}",
            {"rocksdb_max_background_jobs": 1},
            marks=FULL,
        ),
        pytest.param(
            "pending-compaction", "a soft limit of 2 MiB, one background job that writes 4 MiB a second",
            "write_buffer_size=1m;max_write_buffer_number=8;soft_pending_compaction_bytes_limit=2m;"
            "hard_pending_compaction_bytes_limit=64m;level0_file_num_compaction_trigger=2;"
            f"max_bytes_for_level_base=2m;target_file_size_base=512k;{_NO_LEVEL0}",
            {"rocksdb_max_background_jobs": 1, "rocksdb_rate_limiter_bytes_per_sec": 4 << 20},
            marks=FULL,
        ),
    ],
)  # fmt: skip
def test_writers_are_held_back(  # noqa: PLR0917
    box: Sandbox, tmp_path: Path, cause: str, how: str, family: str, settings: dict[str, int]
) -> None:
    with running(box, rocksdb_default_cf_options=family, rocksdb_flush_log_at_trx_commit=0, **settings):
        found = explained(box, tmp_path / "run", Load(CHANGES, 12))
        assert first(found)[:1] == [cause], (first(found), found.stalls)
        keep(cause, how, first(found), server=label(box))


@FULL
def test_temporary_tables_that_go_to_disk(box: Sandbox, tmp_path: Path) -> None:
    """They are the server's, whatever its storage engine."""
    with running(box, TABLE, **SMALL_TABLES), clients(box, 4, spill):
        found = explained(box, tmp_path / "run", None, seconds=12)
    assert first(found)[:1] == ["temporary-tables-on-disk"], (first(found), found.stalls)
    keep("temporary-tables-on-disk", "duplicates are sought in 16 KiB of memory", first(found), server=label(box))


@pytest.mark.engines_full
def test_a_calm_store_names_nothing(box: Sandbox, tmp_path: Path) -> None:
    """The negative control, on the options that the server has of its own."""
    with running(box):
        found = explained(box, tmp_path / "run", Load(CHANGES, 15, threads=4, rate_per_s=40))
        assert not first(found), (first(found), grave(found), found.stalls)
