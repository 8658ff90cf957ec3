"""What the disk does wrong during the load, and when it begins to.

| fault | what fails |
|---|---|
| `eio_on_fsync=N` | the Nth flush of the load (in a folder: fsync of any file), and what it was to keep is gone |
| `eio_on_data=N` | one fsync of the data file that grows Nth most; in a folder only, where a file is known |
| `full_after=BYTES` | every write for which there is no room after so many |
"""

from __future__ import annotations

import os
from pathlib import Path

from dbdyno.crash.hooks import Integrity
from dbdyno.crash.recorder import Recorder
from dbdyno.model.errors import DriverError, UsageError
from dbdyno.sandbox.options import parse_size

EIO_ON_FSYNC, EIO_ON_DATA, FULL_AFTER = "eio_on_fsync", "eio_on_data", "full_after"
AIM_AT = 0.25
"""Part of the load after which it is known which file grows most."""


def parse_fault(words: str) -> str:
    """As a plan keeps it; empty stays empty. Raises `UsageError`."""
    name, _, value = words.partition("=")
    if not words:
        return ""
    if name in (EIO_ON_FSYNC, EIO_ON_DATA) and value.isdecimal() and int(value) > 0:
        return words
    if name == FULL_AFTER and value:
        return f"{name}={parse_size(value, name)}"
    raise UsageError(
        "This is no fault.",
        found=repr(words),
        todo=f"write {EIO_ON_FSYNC}=N, {EIO_ON_DATA}=N (from 1) or {FULL_AFTER}=SIZE",
    )


class Failing:
    """Makes the disk of one load fail as `fault` says; nothing where it is empty. `unheard`: the server is told that
    all went well, as a negative control of the proof itself."""

    def __init__(self, fault: str, disk: Recorder, integrity: Integrity, load_s: float, *, unheard: bool) -> None:
        self._fault, self._disk, self._unheard = fault, disk, unheard
        self._integrity, self._aim_s = integrity, load_s * AIM_AT
        self._before: dict[str, int] | None = None
        self.says = fault
        """What fails, in words; empty where nothing does."""
        self.since_flush = 0
        """Number of the last flush before it could fail."""

    @property
    def stamp_file(self) -> Path:
        """Of the disk that fails."""
        return self._disk.stamp_file

    def begin(self) -> None:
        """The load is about to begin. Raises `HostError`."""
        if self._fault.startswith(EIO_ON_DATA):
            self._before = self._sizes()
        elif self._fault:
            self._disk.fault(self._fault, unheard=self._unheard)

    def go_on(self, at_s: float) -> None:
        """The load has come so far. Raises `HostError`."""
        if self._before is None or at_s < self._aim_s:
            return
        before, self._before = self._before, None
        rank = int(self._fault.partition("=")[2])
        file = most_grown(before, self._sizes(), rank)
        self.since_flush = int(self._disk.status()["flush_seq"])
        self._disk.fault(f"{EIO_ON_FSYNC}=1", file=file, unheard=self._unheard)
        self.says = f"{self._fault}: an fsync of {file}"

    def end(self) -> None:
        """The load has ended. Raises `DriverError` when nothing failed before: what is seen then says nothing about
        it."""
        if self._fault and int(self._disk.status()["faults"]) == 0:
            raise DriverError(
                "The disk was to fail, and was not asked to do what fails.",
                found=self.says,
                todo="a longer load (--time), or a smaller number",
            )

    def _sizes(self) -> dict[str, int]:
        """Bytes of all data files, by their path below the mount."""
        found: dict[str, int] = {}
        for folder, _, names in os.walk(self._disk.point):
            for name in names:
                path = Path(folder, name)
                relative = str(path.relative_to(self._disk.point))
                if self._integrity.role_of(relative) == "data" and path.is_file():
                    found[relative] = path.stat().st_size
        return found


def most_grown(before: dict[str, int], now: dict[str, int], rank: int) -> str:
    """Of the files that were there before, the one that grew most (`rank` 1), or less; of equal ones the largest.
    Raises `DriverError` when there are not so many."""
    there = sorted(before.keys() & now.keys(), key=lambda name: (now[name] - before[name], now[name], name))
    if len(there) < rank:
        raise DriverError("The server has not so many data files that could fail.", found=f"{len(there)}")
    return there[-rank]
