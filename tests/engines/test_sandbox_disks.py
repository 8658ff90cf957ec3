"""Volumes of a sandbox's own: file systems, limits on operations and memory, and that nothing of them stays."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from sandbox_tools import ask, leaves_nothing

from dbdyno.cli.common import SystemClock
from dbdyno.model.home import Home
from dbdyno.model.machine import DiskClass
from dbdyno.sandbox import disk, limits
from dbdyno.sandbox.disk import mounted
from dbdyno.sandbox.options import Disk
from dbdyno.sandbox.sandbox import Sandbox, open_sandbox

Make = Callable[..., Sandbox]
IOPS = 300


def own_disk(make: Make, kind: Disk, **options: object) -> Sandbox:
    """A sandbox on a volume of its own; skips with the reason where the machine cannot."""
    if reason := disk.why_not(kind):
        pytest.skip(reason)
    sandbox = make(disk=kind, **options)
    if sandbox.record.options.disk != kind or sandbox.notes:
        pytest.skip("; ".join(sandbox.notes))
    return sandbox


@pytest.mark.parametrize(("kind", "method"), [(Disk.EXT4, "copy"), (Disk.XFS, "reflink"), (Disk.BTRFS, "reflink")])
def test_a_volume_carries_a_server_and_its_pristine_copy(make: Make, kind: Disk, method: str) -> None:
    sandbox = own_disk(make, kind, size_bytes=1 << 30)
    point = sandbox.folder / "volume"
    assert mounted(point) is None, "a sandbox that does not run leaves its disk unmounted"
    with sandbox.held():
        sandbox.start()
        assert mounted(point) == f"/dev/{sandbox.device()}"
        assert sandbox.machine().disk_bytes_free < 1 << 30
        ask(sandbox, "CREATE TABLE t AS SELECT 1 AS i")
        sandbox.stop()
        assert sandbox.save_pristine().method == method
        sandbox.start()
        ask(sandbox, "DROP TABLE t")
        sandbox.stop()
        assert sandbox.reset().method == method
        sandbox.start()
        assert ask(sandbox, "SELECT i FROM t") == [(1,)]
    assert mounted(point) is None
    with sandbox.held():
        sandbox.start()
        assert ask(sandbox, "SELECT i FROM t") == [(1,)]
    sandbox.remove()
    leaves_nothing(sandbox)


def operations(device: str) -> int:
    """Writes that the device has completed. Source: kernel documentation, block/stat."""
    return int(Path(f"/sys/class/block/{device}/stat").read_text().split()[4])


def test_the_limit_holds_for_synchronous_and_for_buffered_writes(make: Make, clock: SystemClock) -> None:
    sandbox = own_disk(make, Disk.XFS, iops=IOPS)
    assert sandbox.record.iops_measured is not None
    assert sandbox.record.iops_measured < IOPS * 1.3
    with sandbox.held():
        sandbox.start()
        device = sandbox.device()
        assert device is not None
        machine = sandbox.machine()
        assert (machine.disk, machine.iops) == (DiskClass.CLOUD, IOPS)
        ask(sandbox, "CREATE TABLE t (i int)")
        for work in (lambda: commits(sandbox, clock, 3.0), lambda: buffered(sandbox, 3 * IOPS)):
            before, started = operations(device), clock.monotonic()
            work()
            rate = (operations(device) - before) / (clock.monotonic() - started)
            assert rate < IOPS * 1.2
        assert clock.monotonic() - started > 1.0, "the pages were written faster than the limit allows"
    assert (
        f"{device_number(device)} " not in Path("/sys/fs/cgroup/blkio/blkio.throttle.write_iops_device").read_text()
        if Path("/sys/fs/cgroup/blkio").exists()
        else True
    )


def device_number(device: str) -> str:
    return Path(f"/sys/class/block/{device}/dev").read_text().strip()


def commits(sandbox: Sandbox, clock: SystemClock, seconds: float) -> None:
    def one() -> None:
        deadline = clock.monotonic() + seconds
        while clock.monotonic() < deadline:
            ask(sandbox, "INSERT INTO t VALUES (1)")

    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def buffered(sandbox: Sandbox, pages: int) -> None:
    """Dirty pages far apart, so that they cannot be merged, which the kernel's own threads write back."""
    path = sandbox.folder / "volume" / "pages"
    with path.open("wb") as stream:
        stream.truncate(pages << 20)
        for page in range(pages):
            os.pwrite(stream.fileno(), b"x" * 4096, page << 20)
    subprocess.run(["sync", "-f", str(path)], check=True)
    path.unlink()


def test_memory_is_limited_and_the_machine_knows(make: Make) -> None:
    sandbox = make(memory_bytes=256 << 20)
    if sandbox.notes:
        pytest.skip("; ".join(sandbox.notes))
    with sandbox.held():
        sandbox.start()
        assert sandbox.machine().memory_bytes == 256 << 20
        groups = [Path(group) for group in sandbox.state.groups]
        assert len(groups) == 1
        inside = {int(line) for line in (groups[0] / "cgroup.procs").read_text().split()}
        assert set(sandbox.server_pids()) <= inside
        assert os.getpid() not in inside
    assert not groups[0].exists()
    sandbox.remove()
    leaves_nothing(sandbox)


def test_what_the_machine_cannot_give_is_said_and_done_without(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "tool", lambda name: None if name == "mkfs.xfs" else "/bin/true")
    monkeypatch.setattr(limits, "CGROUP_ROOT", Path("/nonexistent"))
    sandbox = make(disk=Disk.XFS, iops=3000)
    assert len(sandbox.notes) == 1
    assert "without a limit" in sandbox.notes[0]
    assert sandbox.record.options.disk == Disk.PLAIN
    assert sandbox.record.wished is not None
    assert sandbox.record.wished.iops == 3000
    assert sandbox.machine().iops is None
    assert sandbox.start() > 0


def test_a_volume_that_cannot_be_made_is_said_and_done_without(make: Make) -> None:
    if reason := disk.why_not(Disk.XFS):
        pytest.skip(reason)
    # Smaller than its file system takes.
    sandbox = make(disk=Disk.XFS, size_bytes=1 << 20)
    assert "no xfs disk of its own" in sandbox.notes[0]
    assert not (sandbox.folder / "disk.img").exists()
    assert sandbox.start() > 0


def test_a_volume_that_a_killed_dyno_left_mounted_is_used_again(make: Make, home: Home, clock: SystemClock) -> None:
    sandbox = own_disk(make, Disk.XFS, memory_bytes=256 << 20)
    code = (
        "import os, sys; from pathlib import Path; from dbdyno.cli.common import SystemClock\n"
        "from dbdyno.model.home import Home; from dbdyno.sandbox.sandbox import open_sandbox\n"
        "sandbox = open_sandbox(Home(Path(sys.argv[1])), None, 'test', clock=SystemClock())\n"
        "with sandbox.held():\n    sandbox.start()\n    os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(home.root)], check=False)
    assert mounted(sandbox.folder / "volume") is not None
    with sandbox.held():
        sandbox.start()
        assert len(sandbox.volume.devices() if sandbox.volume else []) == 1
    assert mounted(sandbox.folder / "volume") is None
    subprocess.run([sys.executable, "-c", code, str(home.root)], check=False)
    open_sandbox(home, None, "test", clock=clock).remove()
    leaves_nothing(sandbox)


def test_a_creation_that_was_cut_off_leaves_a_mount_that_is_swept_away(make: Make, home: Home) -> None:
    if reason := disk.why_not(Disk.XFS):
        pytest.skip(reason)
    folder = home.sandboxes / "test"
    (folder / "volume").mkdir(parents=True)
    (folder / "creating").touch()
    volume = disk.Volume(image=folder / "disk.img", point=folder / "volume", disk=Disk.XFS)
    device = volume.make(1 << 30, lambda _: None)
    sandbox = make()
    with contextlib.suppress(OSError):
        backing = Path(f"/sys/class/block/{Path(device).name}/loop/backing_file").read_text()
        assert str(folder) not in backing
    assert mounted(folder / "volume") is None
    assert sandbox.record.options.disk == Disk.PLAIN
