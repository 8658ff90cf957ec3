"""Causes that lie in the machine, provoked under a real server: `make engines`."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from explain_machine import Brake, brake, join_memory_group, processor_group, swap_file
from explain_tools import CLOCK, Load, explained, grave, keep, named_at, need_driver
from sandbox_tools import ask, temporary_home

from dbdyno.engines.registry import engine_named
from dbdyno.model.errors import DynoError
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
    with temporary_home(CLOCK) as home:
        box = create(home, engine_named("postgresql"), "host", SandboxOptions(disk=Disk.EXT4, size_bytes=4 << 30),
                     clock=CLOCK)  # fmt: skip
        with box.held():
            box.start()
            load_dataset(box.target, box.secret, CHANGES, threads=2, seed=1)
            yield box


@pytest.fixture
def disk(box: Sandbox) -> Iterator[Brake]:
    box.restart({})
    ask(box, "CHECKPOINT")
    with brake(box) as one:
        yield one


def mount_of(box: Sandbox) -> str:
    return next(line.split()[1] for line in Path("/proc/mounts").read_text().splitlines() if str(box.folder) in line)


def empty_cache(box: Sandbox) -> None:
    """The kernel's, of the server's tables."""
    for one in box.folder.rglob("base/*/*"):
        with contextlib.suppress(OSError), one.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def test_a_quota_of_processors(box: Sandbox, tmp_path: Path) -> None:
    box.restart({})

    def meanwhile() -> None:
        CLOCK.sleep(7)
        allow(0.02)
        CLOCK.sleep(5)
        allow(0)

    with processor_group(box) as allow:
        allow(64)  # Counted from the start, and never used up.
        found = explained(box, tmp_path / "run", Load(POINTS, 18, threads=4, rate_per_s=4000), meanwhile)
    named = named_at(found, 8, 11.5)
    assert named[:1] == ["processor-group-limit"], (named, found.stalls)
    keep("processor-group-limit", "a fiftieth of a processor for the server's group for 5 s", named)


def test_a_bulk_writer_in_the_group_of_the_server(tmp_path: Path) -> None:
    """A container in which a backup runs beside the server: what it dirtied pushes the server into swap."""
    need_driver()
    options = SandboxOptions(disk=Disk.EXT4, size_bytes=4 << 30, memory_bytes=128 << 20)
    with temporary_home(CLOCK) as home, swap_file(512 << 20):
        try:
            small = create(home, engine_named("postgresql"), "swaps", options, clock=CLOCK)
        except DynoError as error:
            pytest.skip(str(error))
        if not small.record.options.memory_bytes:
            pytest.skip("this machine cannot limit memory: " + "; ".join(small.notes))
        with small.held():
            small.start()
            load_dataset(small.target, small.secret, POINTS, threads=2, seed=1)
            ask(small, "CHECKPOINT")
            with brake(small) as disk:
                disk.limit(iops=200)
                bulk = tmp_path / "bulk"

                def meanwhile() -> None:
                    CLOCK.sleep(9)
                    # Onto a fast disk: a slow one slows the writer down before its pages fill the group.
                    words = ["dd", "if=/dev/zero", f"of={bulk}", "bs=1M", "count=20000"]
                    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as writer:
                        join_memory_group(small, writer.pid)
                        CLOCK.sleep(6)
                        writer.kill()
                    bulk.unlink()

                found = explained(small, tmp_path / "run", Load(POINTS, 22, threads=4), meanwhile)
    # What is in use all the time is swapped last: whether clients feel it depends on how quick the disk is.
    assert grave(found)[:1] == ["write-cache-swap"], (grave(found), found.stalls)
    keep(
        "write-cache-swap",
        "dd beside the server in a group of 128 MiB, swap on a disk of 200 operations a second",
        grave(found),
    )


def test_a_cache_that_a_restart_emptied(box: Sandbox, disk: Brake, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        # A server ends with the thread that started it: so this one restarts, and the other one records.
        record = pool.submit(explained, box, tmp_path / "run", Load(POINTS, 70, threads=4))
        CLOCK.sleep(12)
        box.restart({})
        disk.take()
        empty_cache(box)
        disk.limit(iops=200)
        found = record.result()
    named = [one for one in grave(found) if one != "server-restarted"]
    assert named[:1] == ["cache-cold"], (named, found.stalls)
    keep("cache-cold", "a restart, and the kernel's cache of its files emptied; 200 operations a second", named)


def test_another_program_that_reads(box: Sandbox, disk: Brake, tmp_path: Path) -> None:
    file = Path(f"{mount_of(box)}/read")
    subprocess.run(["dd", "if=/dev/zero", f"of={file}", "bs=1M", "count=200", "conv=fsync"], check=True,
                   capture_output=True)  # fmt: skip
    # The volume's image is a file, too: what is cached of it is not read from the disk.
    image = Path(f"/sys/block/{box.device()}/loop/backing_file").read_text().strip()
    with open(image, "rb") as held:
        os.posix_fadvise(held.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    words = ["timeout", "7", "dd", f"if={file}", "of=/dev/null", "bs=16k", "iflag=direct"]

    def meanwhile() -> None:
        CLOCK.sleep(8)
        disk.limit(iops=300)
        readers = [
            subprocess.Popen([*words, f"skip={number * 200}"], stderr=subprocess.DEVNULL) for number in range(60)
        ]
        for one in readers:
            for pid in (one.pid, *map(int, Path(f"/proc/{one.pid}/task/{one.pid}/children").read_text().split())):
                disk.admit(pid)
        for one in readers:
            one.wait()
        disk.limit()

    # Changes wait for the log's syncs, behind the reads.
    found = explained(box, tmp_path / "run", Load(CHANGES, 20, threads=4), meanwhile)
    file.unlink()
    named = named_at(found, 9, 13)
    assert named[:1] == ["bulk-reader"], (named, found.stalls)
    keep("bulk-reader", "sixty dd that read on the server's volume, a disk of 300 operations a second", named)
    if "disk-saturated" in named:
        # It names what ran out, not who used it up.
        assert named[-1] == "disk-saturated"
        keep("disk-saturated", "sixty dd that read, in the same run", named)
