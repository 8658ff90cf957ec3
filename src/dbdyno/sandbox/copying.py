"""Copies of a dataset: by reflink (shared blocks) where the file system can, else byte by byte.

Source: Linux manual page ioctl_ficlone(2).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
from pathlib import Path

from dbdyno.model.clock import Clock
from dbdyno.model.errors import SandboxError
from dbdyno.model.record import Record

_FICLONE = 0x40049409


class ResetCost(Record, frozen=True, kw_only=True):
    seconds: float
    method: str
    """`reflink` or `copy`."""
    bytes: int
    """Size of the dataset that was copied."""


def can_reflink(folder: Path) -> bool:
    source, target = folder / ".dyno-reflink-a", folder / ".dyno-reflink-b"
    try:
        source.write_bytes(b"\0" * 4096)
        with source.open("rb") as one, target.open("wb") as other:
            fcntl.ioctl(other.fileno(), _FICLONE, one.fileno())
        return True
    except OSError:
        return False
    finally:
        source.unlink(missing_ok=True)
        target.unlink(missing_ok=True)


def tree_bytes(folder: Path) -> int:
    """Sum of the lengths of all files below a folder; files that vanish while we look do not count."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(parent, name)).st_size
    return total


def copy_tree(source: Path, target: Path, clock: Clock) -> ResetCost:
    """Copies a folder to a name that does not exist, and has it on the disk when it returns. `target` appears whole
    or not at all. Raises `SandboxError`, e.g. when the disk is full."""
    started = clock.monotonic()
    method = "reflink" if can_reflink(source.parent) else "copy"
    new = target.with_name(target.name + ".new")
    remove_tree(new)
    command = ["cp", "-a"]
    if method == "reflink":
        command.append("--reflink=always")
    done = subprocess.run([*command, str(source), str(new)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        remove_tree(new)
        raise SandboxError(
            f"The dataset in {source} could not be copied.",
            found=lines[-1] if lines else f"cp ended with {done.returncode}",
            todo="see whether the disk is full",
        )
    flush(new)
    new.rename(target)
    return ResetCost(seconds=clock.monotonic() - started, method=method, bytes=tree_bytes(target))


def flush(path: Path) -> None:
    """Writes out the file system under a path, so that what we deferred is not charged to the next measurement."""
    subprocess.run(["sync", "-f", str(path)], check=True, capture_output=True)


def remove_tree(folder: Path) -> None:
    """Removes a folder that may not exist. Raises `SandboxError` when something of it stays."""
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        raise SandboxError(f"{folder} could not be removed.", found=error.strerror or str(error)) from None


def forget_pages(folder: Path) -> None:
    """Drops the clean pages of all files below a folder from the page cache. Other files of the machine keep theirs.
    Source: posix_fadvise(2), POSIX_FADV_DONTNEED."""
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                file = os.open(os.path.join(parent, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
                finally:
                    os.close(file)
