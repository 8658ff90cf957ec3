"""Pressure on the page cache while the load runs: the kernel may write any dirty page at any time and in any order,
and on a machine with little memory it does. A load of a few seconds would not see that by itself (the kernel waits
thirty seconds), so files are pushed at random: what a configuration does not order by flushes then reaches the disk in
part, which is what a loss of power reveals.

Source: posix_fadvise(2): POSIX_FADV_DONTNEED begins to write dirty pages; it neither waits nor flushes the disk.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import numpy as np

PART = 0.4
"""Of the files that changed, so many are pushed each time."""


class Pressure:
    """Pushes files below a folder; the same seed makes the same choices for the same files."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._choice = np.random.default_rng(seed)
        self._seen: dict[str, int] = {}

    def begin(self) -> None:
        """Takes all files for written as they are."""
        self._seen = self._changed()

    def push(self) -> int:
        """Has the kernel begin to write a part of the files that changed since they were pushed last. Returns how many
        were pushed."""
        pushed = 0
        for path, changed_ns in sorted(self._changed().items()):
            if self._choice.random() < PART:
                pushed += 1
                self._seen[path] = changed_ns
                _begin_writing(path)
        return pushed

    def _changed(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for parent, _, names in os.walk(self._folder):
            for name in names:
                path = os.path.join(parent, name)
                with contextlib.suppress(OSError):
                    changed_ns = os.lstat(path).st_mtime_ns
                    if changed_ns > self._seen.get(path, 0):
                        found[path] = changed_ns
        return found


def _begin_writing(path: str) -> None:
    """A file that is gone, or is none, has nothing to be written."""
    with contextlib.suppress(OSError):
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(file)
