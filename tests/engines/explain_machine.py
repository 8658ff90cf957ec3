"""What is done to the machine under a server, so that a cause is at work; everything is put back.

A `Brake` slows the disk under the image of a sandbox's volume for the server alone: the loop device charges what it
does to whom it does it for, so that the volume itself is busy and has a queue, as a slow disk has. (A limit on the
volume would hold requests back before they are counted anywhere.)
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dbdyno.sandbox.sandbox import Sandbox

_GROUPS = Path("/sys/fs/cgroup/blkio")


class Brake:
    """A group with limits on the disk that holds a sandbox's image; the server is in it."""

    def __init__(self, box: Sandbox) -> None:
        self._device = _disk_under(box.folder)
        self._group = _GROUPS / f"dyno-brake-{os.getpid()}"
        self._group.mkdir()
        self._box = box
        self.take()

    def take(self) -> None:
        """Moves every process of the server there; new ones are born there."""
        for pid in self._box.server_pids():
            with contextlib.suppress(ProcessLookupError):
                (self._group / "cgroup.procs").write_text(str(pid))

    def admit(self, pid: int) -> None:
        """Another program on the same disk."""
        (self._group / "cgroup.procs").write_text(str(pid))

    def limit(self, *, iops: int = 0, bytes_per_s: int = 0) -> None:
        """For reads and for writes each; 0: none."""
        for what, value in (("iops", iops), ("bps", bytes_per_s)):
            for way in ("read", "write"):
                (self._group / f"blkio.throttle.{way}_{what}_device").write_text(f"{self._device} {value}")

    def release(self) -> None:
        self.limit()
        for pid in (self._group / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError, OSError):
                (_GROUPS / "cgroup.procs").write_text(pid)
        self._group.rmdir()


def _disk_under(folder: Path) -> str:
    """Numbers of the whole disk, for a limit holds on disks only."""
    number = os.stat(folder).st_dev
    sysfs = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    return ((sysfs.parent if (sysfs / "partition").exists() else sysfs) / "dev").read_text().strip()


@contextlib.contextmanager
def brake(box: Sandbox) -> Iterator[Brake]:
    """Skips where there are no such limits, or the sandbox has no volume."""
    if os.geteuid() != 0 or not (_GROUPS / "blkio.throttle.write_iops_device").exists():
        pytest.skip("this machine cannot slow a disk down for some processes alone")
    if box.volume is None:
        pytest.skip("no volume of its own: " + "; ".join(box.notes))
    one = Brake(box)
    try:
        yield one
    finally:
        one.release()


@contextlib.contextmanager
def kernel_setting(name: str, value: int) -> Iterator[None]:
    """A setting of the whole machine, for the time of a test."""
    file = Path("/proc/sys") / name.replace(".", "/")
    if not os.access(file, os.W_OK):
        pytest.skip(f"{name} may not be set here")
    # Of two settings for one thing, setting one clears the other.
    files = [file, *(file.with_name(file.name.replace("_bytes", "_ratio")) for _ in [0] if name.endswith("_bytes"))]
    before = [(one, one.read_text()) for one in files]
    file.write_text(str(value))
    try:
        yield
    finally:
        for one, text in before:
            if text.strip() != "0":
                one.write_text(text)


_SWAP = "dyno-test-swap-"


@contextlib.contextmanager
def swap_file(size_bytes: int) -> Iterator[Path]:
    """Swap for the time of a test; what a killed test left is taken away first."""
    if os.geteuid() != 0 or shutil.which("mkswap") is None:
        pytest.skip("swap may not be added here")
    above = Path(tempfile.gettempdir())
    for left in above.glob(f"{_SWAP}*"):
        if not Path(f"/proc/{left.name.removeprefix(_SWAP).partition('-')[0]}").exists():
            _end_swap(left)
    number, name = tempfile.mkstemp(prefix=f"{_SWAP}{os.getpid()}-")
    try:
        with os.fdopen(number, "wb") as file:
            for _ in range(size_bytes >> 20):
                file.write(bytes(1 << 20))  # A file with holes is refused.
        subprocess.run(["mkswap", name], check=True, capture_output=True, timeout=30)
        if subprocess.run(["swapon", name], capture_output=True, timeout=30, check=False).returncode:
            pytest.skip("this machine takes no file as swap")
        yield Path(name)
    finally:
        _end_swap(Path(name))


def _end_swap(file: Path) -> None:
    if str(file) in Path("/proc/swaps").read_text():
        subprocess.run(["swapoff", str(file)], check=True, capture_output=True, timeout=120)
    file.unlink(missing_ok=True)


def join_memory_group(box: Sandbox, pid: int) -> None:
    """Puts a program into the group in which the server's memory is limited."""
    words = next(one for one in Path(f"/proc/{box.server_pids()[0]}/cgroup").read_text().split() if ":memory:" in one)
    (Path("/sys/fs/cgroup/memory") / words.partition(":memory:")[2].lstrip("/") / "cgroup.procs").write_text(str(pid))


@contextlib.contextmanager
def processor_group(box: Sandbox) -> Iterator[Callable[[float], None]]:
    """Yields what sets the processors that the server may use; 0: all."""
    above = Path("/sys/fs/cgroup/cpu")
    if os.geteuid() != 0 or not (above / "cpu.shares").exists():
        pytest.skip("this machine cannot limit the processors of some processes alone")
    group = above / f"dyno-quota-{os.getpid()}"
    group.mkdir()
    for pid in box.server_pids():
        with contextlib.suppress(ProcessLookupError):
            (group / "cgroup.procs").write_text(str(pid))

    def allow(cores: float) -> None:
        period_us = int((group / "cpu.cfs_period_us").read_text())
        (group / "cpu.cfs_quota_us").write_text(str(int(cores * period_us) or -1))

    try:
        yield allow
    finally:
        for pid in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError, OSError):
                (above / "cgroup.procs").write_text(pid)
        group.rmdir()


HOG = """
import os
os.nice(-20)
try:
    open("/proc/self/autogroup", "w").write("-20")
except OSError:
    pass
while True:
    pass
"""
"""Takes a processor from whoever wants it, too."""


@contextlib.contextmanager
def programs(count: int, code: str, *words: str) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Other programs: Python code in processes and sessions of their own (the kernel may share by session)."""
    started = [subprocess.Popen([sys.executable, "-c", code, *words], start_new_session=True) for _ in range(count)]
    try:
        yield started
    finally:
        for one in started:
            one.kill()
        for one in started:
            one.wait()
