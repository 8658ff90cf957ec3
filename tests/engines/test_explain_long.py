"""Causes whose provocation takes half a minute or more, or a machine that nobody else uses: `make engines`."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from explain_machine import HOG, Brake, brake, kernel_setting, programs
from explain_mysql import first
from explain_tools import CLOCK, Load, connection, explained, grave, keep, named_at, need_driver
from sandbox_tools import ask, temporary_home

from dbdyno.engines.registry import engine_named
from dbdyno.model.plan import WorkloadSpec
from dbdyno.run.driver import load_dataset
from dbdyno.sandbox.options import Disk, SandboxOptions
from dbdyno.sandbox.sandbox import Sandbox, create

pytestmark = [pytest.mark.engines_full, pytest.mark.timeout(600)]

ROWS = {"tables": "1", "table_size": "200000"}
CHANGES = WorkloadSpec(name="oltp_write_only", options=ROWS)
READS = WorkloadSpec(name="oltp_read_only", options=ROWS)
POINTS = WorkloadSpec(name="oltp_point_select", options=ROWS)


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    need_driver()
    options = SandboxOptions(disk=Disk.EXT4, size_bytes=4 << 30)
    with temporary_home(CLOCK) as home:
        box = create(home, engine_named("postgresql"), "long", options, clock=CLOCK)
        with box.held():
            box.start()
            load_dataset(box.target, box.secret, CHANGES, threads=2, seed=1)
            yield box


@pytest.fixture
def disk(box: Sandbox) -> Iterator[Brake]:
    """A brake on the server's disk; the server begins with its own settings and a finished checkpoint."""
    box.restart({})
    ask(box, "CHECKPOINT")
    with brake(box) as one:
        yield one


def restart(box: Sandbox, disk: Brake, settings: dict[str, str | int | float]) -> None:
    box.restart(settings)
    disk.take()


def test_a_checkpoint_that_syncs_all_at_once(box: Sandbox, disk: Brake, tmp_path: Path) -> None:
    settings: dict[str, str | int | float] = {"checkpoint_timeout": 30, "checkpoint_completion_target": 0}
    settings |= {"checkpoint_flush_after": 0, "max_wal_size": "4GB"}
    settings["full_page_writes"] = "off"  # Else the whole pages at its begin are a cause of their own.
    restart(box, disk, settings)
    disk.limit(iops=300)
    found = explained(box, tmp_path / "run", Load(CHANGES, 45))
    named = [one for one in grave(found) if one != "server-restarted"]
    assert named[:1] == ["checkpoint-sync-storm"], (named, found.stalls)
    keep("checkpoint-sync-storm", "a timed checkpoint that spreads and flushes nothing, 300 operations a second", named)


def test_whole_pages_after_a_checkpoint(box: Sandbox, disk: Brake, tmp_path: Path) -> None:
    restart(box, disk, {"checkpoint_timeout": 30, "checkpoint_completion_target": 0.9, "max_wal_size": "4GB"})
    disk.limit(bytes_per_s=3 << 20)
    found = explained(box, tmp_path / "run", Load(CHANGES, 70, rate_per_s=150))
    assert grave(found)[:1] == ["full-page-burst"], (grave(found), found.stalls)
    keep("full-page-burst", "a checkpoint every 30 s, a disk of 3 MiB a second", grave(found))


def test_clients_that_write_the_pages_themselves(box: Sandbox, disk: Brake, tmp_path: Path) -> None:
    tiny: dict[str, str | int | float] = {"shared_buffers": "2MB", "wal_buffers": "16MB"}
    tiny |= {"bgwriter_lru_maxpages": 0, "backend_flush_after": "8kB", "synchronous_commit": "off"}
    restart(box, disk, tiny)

    def meanwhile() -> None:
        CLOCK.sleep(8)
        disk.limit(iops=60)
        CLOCK.sleep(6)
        disk.limit()

    found = explained(box, tmp_path / "run", Load(CHANGES, 20, threads=4), meanwhile)
    named = named_at(found, 9, 13)
    assert named[:1] == ["backend-writes"], (named, found.stalls)
    keep("backend-writes", "shared_buffers 2 MB, no background writer, 60 operations a second for 6 s", named)


def test_pages_that_are_thrown_out_of_the_cache(box: Sandbox, disk: Brake, tmp_path: Path) -> None:
    restart(box, disk, {"shared_buffers": "8MB"})
    files = [one for one in box.folder.rglob("base/*/*") if one.is_file()]

    def meanwhile() -> None:
        CLOCK.sleep(8)
        disk.limit(iops=150)
        end_s = CLOCK.monotonic() + 6
        while CLOCK.monotonic() < end_s:
            for one in files:
                with contextlib.suppress(OSError), one.open("rb") as file:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            CLOCK.sleep(0.1)
        disk.limit()

    found = explained(box, tmp_path / "run", Load(POINTS, 20, threads=4, rate_per_s=1500), meanwhile)
    named = named_at(found, 9, 13)
    assert named[:1] == ["cache-too-small"], (named, found.stalls)
    keep("cache-too-small", "shared_buffers 8 MB, the kernel's cache of its files emptied for 6 s", named)


def test_a_kernel_that_reads_too_far_ahead(box: Sandbox, disk: Brake, tmp_path: Path) -> None:
    """Twenty-four blocks in a row are the most that anybody reads, anywhere in the table. By then the kernel has asked
    the disk for five times as many: it reads ahead in steps that become larger and larger up to its bound."""
    restart(box, disk, {"shared_buffers": "2MB"})
    ahead = Path(f"/sys/block/{box.device()}/queue/read_ahead_kb")
    before, over = ahead.read_text(), threading.Event()
    files = [one for one in box.folder.rglob("base/*/*") if one.is_file() and one.stat().st_size > 8 << 20]

    def read(seed: int) -> None:
        chance = random.Random(seed)
        with connection(box) as one:
            one.autocommit = True  # What it reads is counted when its transaction ends.
            while not over.is_set():
                at = chance.randrange(4000)
                one.execute(f"SELECT count(*) FROM sbtest1 WHERE ctid BETWEEN '({at},1)' AND '({at + 24},1)'".encode())

    def forget() -> None:
        while not over.is_set():
            for one in files:
                with contextlib.suppress(OSError), one.open("rb") as file:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            CLOCK.sleep(0.1)

    threads = [threading.Thread(target=read, args=(seed,)) for seed in (1, 2)] + [threading.Thread(target=forget)]
    try:
        ahead.write_text("2048")
        disk.limit(bytes_per_s=40 << 20)
        for thread in threads:
            thread.start()
        found = explained(box, tmp_path / "run", None, seconds=12)
    finally:
        over.set()
        for thread in threads:
            thread.join()
        disk.limit()
        ahead.write_text(before)
    assert first(found)[:1] == ["read-ahead-too-far"], (first(found), found.stalls)
    keep(
        "read-ahead-too-far", "2 MiB read ahead, 24 blocks in a row are wanted, a disk of 40 MiB a second", first(found)
    )


def test_a_burst_that_is_spent(box: Sandbox, disk: Brake, tmp_path: Path) -> None:
    disk.limit(iops=800)

    def meanwhile() -> None:
        CLOCK.sleep(24)
        disk.limit(iops=100)

    found = explained(box, tmp_path / "run", Load(CHANGES, 55), meanwhile)
    assert grave(found)[:1] == ["burst-credits-spent"], (grave(found), found.stalls)
    keep("burst-credits-spent", "800 operations a second under the volume, after 24 s 100", grave(found))


def test_a_disk_whose_syncs_become_slow(box: Sandbox, disk: Brake, tmp_path: Path) -> None:
    """No row is wanted by many and no whole pages are logged, so that commits wait for the log and nothing else."""
    restart(box, disk, {"full_page_writes": "off"})

    def meanwhile() -> None:
        CLOCK.sleep(6)
        disk.limit(iops=20)
        CLOCK.sleep(6)
        disk.limit()

    found = explained(box, tmp_path / "run", Load(CHANGES, 15, threads=6), meanwhile)
    named = named_at(found, 7, 11)
    assert named[:1] == ["log-sync-bound"], (named, found.stalls)
    keep("log-sync-bound", "the disk under the volume does 20 operations a second for 6 s", named)


@contextlib.contextmanager
def slow_write_back(box: Sandbox, bytes_per_s: int) -> Iterator[None]:
    """A limit on what the kernel writes to the volume on its own account. That belongs to none of the server's groups,
    so that it is the root's, for this volume alone."""
    limit = Path("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device")
    volume = Path(f"/sys/block/{box.device()}/dev").read_text().strip()
    limit.write_text(f"{volume} {bytes_per_s}")
    try:
        yield
    finally:
        limit.write_text(f"{volume} 0")


def test_a_server_that_fills_the_write_cache(box: Sandbox, disk: Brake, tmp_path: Path) -> None:
    def meanwhile() -> None:
        CLOCK.sleep(8)
        with slow_write_back(box, 2 << 20), connection(box) as one, contextlib.suppress(psycopg.errors.QueryCanceled):
            # Without a log: with one, its syncs would hold the table up long before the cache is full.
            one.execute("SET statement_timeout = '7s'")
            one.execute("CREATE UNLOGGED TABLE big AS SELECT generate_series(1, 9000000), repeat('x', 500)")

    with kernel_setting("vm.dirty_bytes", 16 << 20):
        found = explained(box, tmp_path / "run", Load(CHANGES, 24, threads=4), meanwhile)
    named = named_at(found, 9, 13)
    assert named[:1] == ["dirty-limit-reached"], (named, found.stalls)
    keep(
        "dirty-limit-reached",
        "vm.dirty_bytes 16 MiB, an unlogged table is filled for 7 s, a write-back of 2 MiB a second",
        named,
    )


def test_a_storm_of_connections(box: Sandbox, disk: Brake, tmp_path: Path) -> None:
    pgbench = Path(box.record.installation.bin) / "pgbench"
    if not pgbench.exists():
        pytest.skip(f"{pgbench} is not there")
    target = box.target

    def meanwhile() -> None:
        CLOCK.sleep(8)
        where = ["-h", target.host, "-p", str(target.port), "-U", target.user, target.database]
        ask(box, "CREATE TABLE IF NOT EXISTS one AS SELECT 1 AS i")
        script = tmp_path / "one.sql"
        script.write_text("SELECT i FROM one;\n")
        subprocess.run(
            [str(pgbench), "-n", "-C", "-f", str(script), "-c", "80", "-j", "80", "-T", "6", *where],
            capture_output=True,
            check=False,
        )

    found = explained(box, tmp_path / "run", Load(READS, 20, threads=4), meanwhile)
    named = named_at(found, 9, 13)
    assert named[:1] == ["connection-storm"], (named, found.stalls)
    keep("connection-storm", "eighty clients that connect for each statement", named)


def test_other_programs_that_take_the_processors(box: Sandbox, disk: Brake, tmp_path: Path) -> None:
    def meanwhile() -> None:
        CLOCK.sleep(6)
        with programs(4, HOG):
            CLOCK.sleep(5)

    found = explained(box, tmp_path / "run", Load(READS, 14, threads=4), meanwhile)
    named = named_at(found, 7, 10.5)
    assert named[:1] == ["other-programs"], (named, found.stalls)
    keep("other-programs", "four programs of the highest priority on two processors", named)
