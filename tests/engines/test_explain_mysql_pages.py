"""Flushing, the log's size, the buffer pool and commits: what goes wrong with pages on real servers, each named first.

The volume does 300 writes and 300 reads a second (3000 where the disk shall not be what is short). One provocation is
in everyday's tests; the others, other servers and the calm runs belong to the full matrix (`make engines`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from explain_mysql import SLOW, first, label, running, server
from explain_tools import Load, explained, grave, keep

from dbdyno.model.knob import Value
from dbdyno.model.plan import WorkloadSpec
from dbdyno.sandbox.options import Disk, SandboxOptions
from dbdyno.sandbox.sandbox import Sandbox

HISTORY = WorkloadSpec(name="heavy_update", scale=5)
TABLE = "stress_history"
FULL = pytest.mark.engines_full
KINDS = {"mariadb": ("mariadb", None), "mysql": ("mysql", None)}
MIB = 1 << 20
QUIET: dict[str, Value] = {
    "innodb_buffer_pool_size": 256 * MIB,
    "innodb_log_file_size": 256 * MIB,
    "innodb_flush_log_at_trx_commit": 0,
    "log_bin": "OFF",
}
"""Nothing is short, and commits wait for nothing: each provocation makes one thing short."""


def changes(**options: str) -> WorkloadSpec:
    return WorkloadSpec(name="heavy_update", scale=5, options={"reads_per_write": "0"} | options)


@dataclass(frozen=True)
class Provocation:
    cause: str
    how: str
    settings: dict[str, Value]
    seconds: float = 20
    rate_per_s: float = 0.0
    threads: int = 8
    options: dict[str, str] = field(default_factory=dict)
    cold: bool = False
    """The table does not fit the pool and is not read into it."""
    on: tuple[str, ...] = ("mariadb",)
    daily: str = ""
    """The server on which it is in everyday's tests."""
    shows_as: str = ""
    """What it shows as, and which of the two stands first depends on the machine's speed: both have to be named."""


SCARCE = [
    Provocation(
        "redo-too-small", "a log of 5 MiB on a disk of 300 operations a second",
        {"innodb_log_file_size": 5 * MIB}, seconds=12, shows_as="checkpoint-age-at-limit",
        daily="mariadb",
    ),
    Provocation(
        "checkpoint-age-at-limit", "changes fill a log of 16 MiB in half a minute on a disk of 300 operations a second",
        {"innodb_log_file_size": 16 * MIB}, seconds=36, rate_per_s=1200,
    ),
    Provocation(
        "adaptive-flushing-off", "the same with adaptive flushing off",
        {"innodb_log_file_size": 16 * MIB, "innodb_adaptive_flushing": "OFF"},
    ),
    Provocation(
        "dirty-page-ceiling", "a ceiling of 4 % of dirty pages",
        {"innodb_max_dirty_pages_pct": 4, "innodb_max_dirty_pages_pct_lwm": 0, "innodb_log_file_size": 1024 * MIB},
        on=("mariadb", "mysql"),
    ),
    Provocation(
        "buffer-pool-too-small", "a pool of 8 MiB for a table of 140",
        {"innodb_buffer_pool_size": 8 * MIB}, cold=True, seconds=15,
    ),
    Provocation(
        "free-pages-exhausted", "a pool of 5 MiB for a table of 140",
        {"innodb_buffer_pool_size": 5 * MIB}, cold=True, seconds=15, on=("mysql",),
    ),
    Provocation(
        "binlog-sync-bound", "sync_binlog = 1 on a disk of 300 operations a second",
        {"innodb_flush_log_at_trx_commit": 1, "log_bin": "ON", "sync_binlog": 1}, seconds=12,
        on=("mariadb", "mysql"),
    ),
]  # fmt: skip
AMPLE = [
    Provocation(
        "io-capacity-too-high", "innodb_io_capacity 20000 with a low-water mark of 0.01 %, changes of few rows",
        {"innodb_io_capacity": 20000, "innodb_io_capacity_max": 20000, "innodb_max_dirty_pages_pct_lwm": 0.01},
        rate_per_s=300, seconds=15, options={"rand_type": "zipfian"},
    ),
]  # fmt: skip


def cases(provocations: list[Provocation]) -> list[object]:
    return [
        pytest.param(kind, one, marks=[] if one.daily == kind else FULL, id=f"{kind}-{one.cause}")
        for kind in KINDS
        for one in provocations
        if kind in one.on
    ]


def made(kind: str, options: SandboxOptions) -> Iterator[Sandbox]:
    scheme, version = KINDS[kind]
    with server(scheme, options, HISTORY, version=version) as box:
        yield box


@pytest.fixture(scope="module")
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def scarce(kind: str) -> Iterator[Sandbox]:
    yield from made(kind, SLOW)


@pytest.fixture(scope="module")
def ample(kind: str) -> Iterator[Sandbox]:
    yield from made(kind, replace_iops(3000))


def replace_iops(iops: int) -> SandboxOptions:
    return SandboxOptions(disk=Disk.EXT4, iops=iops, size_bytes=SLOW.size_bytes)


@pytest.mark.parametrize(("kind", "one"), cases(SCARCE), indirect=["kind"])
def test_on_a_disk_that_is_short(scarce: Sandbox, one: Provocation, tmp_path: Path) -> None:
    provoke(scarce, one, tmp_path)


@pytest.mark.parametrize(("kind", "one"), cases(AMPLE), indirect=["kind"])
def test_on_a_disk_that_is_not(ample: Sandbox, one: Provocation, tmp_path: Path) -> None:
    provoke(ample, one, tmp_path)


def settings(box: Sandbox, **changed: Value) -> dict[str, Value]:
    """MySQL has two files of log, so that each is half of what is wanted."""
    chosen = QUIET | changed
    if "MySQL" in label(box):
        chosen["innodb_log_file_size"] = int(chosen["innodb_log_file_size"]) // 2
    return chosen


def provoke(box: Sandbox, one: Provocation, tmp_path: Path) -> None:
    load = Load(changes(**one.options), one.seconds, threads=one.threads, rate_per_s=one.rate_per_s)
    with running(box, *(() if one.cold else (TABLE,)), **settings(box, **one.settings)):
        found = explained(box, tmp_path / "run", load)
        leading = first(found)[: 2 if one.shows_as else 1]
        assert sorted(leading) == sorted({one.cause, one.shows_as} - {""}), (first(found), found.stalls)
        keep(one.cause, one.how, first(found), server=label(box))


@FULL
@pytest.mark.parametrize("kind", ["mariadb"], indirect=True)
def test_a_calm_server_has_none_of_them(scarce: Sandbox, tmp_path: Path) -> None:
    """The negative control: the same disk, with everything at work that the provocations make short."""
    with running(scarce, TABLE, **settings(scarce, innodb_flush_log_at_trx_commit=1)):
        found = explained(scarce, tmp_path / "run", Load(changes(), 20, threads=4, rate_per_s=30))
        assert not first(found), (first(found), grave(found), found.stalls)
