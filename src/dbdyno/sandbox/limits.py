"""Limits on a private server's disk operations and memory, through control groups.

Version 1 of control groups charges buffered writes to the group of the kernel's write-back threads, which is the
root group, not to the group of the server. A limit on a group of the server's own would therefore miss most writes of
a database. Here the limit is set for the device on the root group, and the server is moved there: reads, synchronous
writes and write-back share one budget. The device carries nothing but the sandbox, so nobody else is slowed.
Version 2 charges write-back to the group that dirtied the page, so a group of the server's own is right there.
Source: Linux kernel documentation, "Block IO Controller", "Memory Resource Controller", "Control Group v2".
"""

from __future__ import annotations

import contextlib
import mmap
import os
from dataclasses import dataclass
from pathlib import Path

from dbdyno.model.clock import Clock

CGROUP_ROOT = Path("/sys/fs/cgroup")
_BLOCK = 4096


@dataclass(frozen=True)
class Limits:
    """What was set. `join`: files that the server writes its process number to; `made`: groups to remove later."""

    join: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def own_groups(text: str) -> dict[str, str]:
    """The group of each version 1 controller, and of version 2 under the empty name, from /proc/self/cgroup."""
    groups: dict[str, str] = {}
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            groups[controller] = path
    return groups


def _own(controller: str) -> str:
    return own_groups(Path("/proc/self/cgroup").read_text(encoding="utf-8")).get(controller, "/")


def _write(file: Path, text: str) -> None:
    # Control files are opened for writing only; they cannot be made or truncated.
    with file.open("w", encoding="ascii") as stream:
        stream.write(text)


def _reason(error: OSError) -> str:
    return "only root may" if isinstance(error, PermissionError) else error.strerror or str(error)


def limit_io(device: str, read: int | None, write: int | None, key: str, root: Path = CGROUP_ROOT) -> Limits:
    """Limits operations per second on a block device (`loop0`); None takes a limit away. Notes say why it could not."""
    number = (Path("/sys/class/block") / device / "dev").read_text(encoding="ascii").strip()
    try:
        if (root / "blkio" / "blkio.throttle.write_iops_device").exists():
            return _limit_io_1(root / "blkio", number, read, write)
        if "io" in _controllers(root):
            group = _make_group_2(root, key, "io")
            _write(group / "io.max", f"{number} riops={read or 'max'} wiops={write or 'max'}")
            return Limits(join=(str(group / "cgroup.procs"),), made=(str(group),))
    except OSError as error:
        return Limits(notes=(f"the limit on disk operations could not be set: {_reason(error)}",))
    return Limits(notes=("this kernel offers no control group that limits disk operations",))


def _limit_io_1(base: Path, number: str, read: int | None, write: int | None) -> Limits:
    _write(base / "blkio.throttle.read_iops_device", f"{number} {read or 0}")
    _write(base / "blkio.throttle.write_iops_device", f"{number} {write or 0}")
    own = _own("blkio")
    return Limits(join=() if own == "/" else (str(base / "cgroup.procs"),))


def limit_memory(memory_bytes: int, key: str, root: Path = CGROUP_ROOT) -> Limits:
    """Makes a group with a limit on memory, page cache included. Notes say why it could not."""
    try:
        if (root / "memory" / "memory.limit_in_bytes").exists() or (root / "memory" / "cgroup.procs").exists():
            group = root / "memory" / _own("memory").strip("/") / key
            group.mkdir(exist_ok=True)
            _write(group / "memory.limit_in_bytes", str(memory_bytes))
            return Limits(join=(str(group / "cgroup.procs"),), made=(str(group),))
        if "memory" in _controllers(root):
            group = _make_group_2(root, key, "memory")
            _write(group / "memory.max", str(memory_bytes))
            return Limits(join=(str(group / "cgroup.procs"),), made=(str(group),))
    except OSError as error:
        return Limits(notes=(f"the limit on memory could not be set: {_reason(error)}",))
    return Limits(notes=("this kernel offers no control group that limits memory",))


def _controllers(root: Path) -> list[str]:
    with contextlib.suppress(OSError):
        return (root / "cgroup.controllers").read_text(encoding="ascii").split()
    return []


def _make_group_2(root: Path, key: str, controller: str) -> Path:
    _write(root / "cgroup.subtree_control", f"+{controller}")
    group = root / key
    group.mkdir(exist_ok=True)
    return group


def remove_groups(groups: tuple[str, ...]) -> list[str]:
    """Removes groups whose processes have ended. Returns those that stayed."""
    stayed = []
    for group in groups:
        try:
            Path(group).rmdir()
        except FileNotFoundError:
            continue
        except OSError:
            stayed.append(group)
    return stayed


def machine_memory_bytes() -> int:
    """The machine's memory, or what of it this very process may use."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(whole, memory_limit_bytes() or whole)


def memory_limit_bytes(root: Path = CGROUP_ROOT) -> int | None:
    """The limit that this very process lives under; None when there is none."""
    own_1, own_2 = _own("memory").strip("/"), _own("").strip("/")
    limits = []
    for file in (
        root / "memory" / own_1 / "memory.limit_in_bytes",
        root / "memory" / "memory.limit_in_bytes",
        root / own_2 / "memory.max",
    ):
        with contextlib.suppress(OSError, ValueError):
            limits.append(int(file.read_text(encoding="ascii")))
    # "No limit" is written as a number near 2^63 in version 1.
    real = [limit for limit in limits if limit < 1 << 60]
    return min(real) if real else None


def measure_write_iops(folder: Path, clock: Clock, seconds: float = 1.0) -> float | None:
    """Direct 4 KiB writes a second to a file in the folder, one at a time; None without O_DIRECT."""
    path = folder / ".dyno-iops"
    block = mmap.mmap(-1, _BLOCK)
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600)
    except OSError:
        return None
    try:
        for index in range(256):
            os.pwrite(file, block, index * _BLOCK)
        os.fsync(file)
        count, started = 0, clock.monotonic()
        while clock.monotonic() - started < seconds:
            os.pwrite(file, block, count % 256 * _BLOCK)
            count += 1
        return count / (clock.monotonic() - started)
    except OSError:
        return None
    finally:
        os.close(file)
        path.unlink(missing_ok=True)
