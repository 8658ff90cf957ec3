"""What is common to everything that records: a process that is asked over its socket, and a mount to be put away."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dbdyno.crash.powerloss import Powerloss
from dbdyno.model.clock import Clock
from dbdyno.model.errors import HostError
from dbdyno.sandbox.disk import mounted, run_tool
from dbdyno.sandbox.process import ProcessId

_UNMOUNT_TRIES = 100
_UNMOUNT_PAUSE_S = 0.05


class Recorder(ABC):
    """Remembers every change and every flush of what it serves. A context manager."""

    what = "disk"
    """What it records, in words."""

    def __init__(self, store: Path, point: Path, clock: Clock) -> None:
        """`store` is the folder of the recording, `point` where the recorded thing is mounted."""
        self._store, self._point, self._clock = store, point, clock
        self._process: Powerloss | None = None

    @property
    def point(self) -> Path:
        """Where it is mounted."""
        return self._point

    @property
    def stamp_file(self) -> Path:
        """4096 bytes to be mapped: the number of the last completed flush at 0, of the last event at 8 (u64, little
        endian). In a recorded folder a completed fsync of any file or folder counts as a flush."""
        return self._store / "stamp"

    @property
    def process_id(self) -> ProcessId | None:
        """The recording process; None when it is not running."""
        return self._process.identity if self._process is not None else None

    def __enter__(self) -> Self:
        """Raises `HostError`."""
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def open(self) -> None:
        """Starts the recording process and mounts what it serves. Raises `HostError`."""

    @abstractmethod
    def close(self) -> None:
        """Unmounts and stops; the recording stays. Harmless when it is closed. Raises `HostError` when something
        still uses it."""

    @abstractmethod
    def make_base(self) -> None:
        """Makes all that is there the start: crash states lie after it. Raises `HostError`, also when the recording
        has lost something."""

    def _ask(self, do: str, **more: Any) -> dict[str, Any]:
        assert self._process is not None, f"the {self.what} is not open"
        return self._process.ask(do, **more)

    def status(self) -> dict[str, Any]:
        """`events`, `flushes`, `flush_seq`, `log_bytes`, and `error`: why writes were refused, or empty."""
        return self._ask("status")

    def flushes(self) -> int:
        """Flushes completed so far."""
        return int(self.status()["flushes"])

    def fault(self, fault: str, *, file: str = "", unheard: bool = False) -> None:
        """Sets a fault from now on: `eio_on_fsync=N`, `full_after=BYTES`. `file`: of a folder, only fsyncs of this one
        count; `unheard`: the writer is told that all went well. Raises `HostError`."""
        self._ask("fault", fault=fault, unheard=unheard, **({"file": file} if file else {}))

    def cut(self) -> None:
        """The power goes: nothing more is recorded, and whatever is changed or flushed later fails with EIO. Raises
        `HostError` when the recording has lost something before: what the server met then says nothing about it."""
        self._ask("cut")
        self._require_whole()

    def _require_whole(self) -> None:
        if problem := self.status()["error"]:
            raise HostError(
                f"The recording of the {self.what} failed.",
                found=str(problem),
                todo=f"free space under {self._store}, or load for a shorter time",
            )


def unmount(point: Path, clock: Clock, what: str, *, lazy: bool = False) -> None:
    """Waits for a server that is just ending; then says what it was."""
    command = ["umount", *(("--lazy",) if lazy else ())]
    if os.geteuid() != 0:
        # Only fusermount3 may unmount for others than root.
        command = ["fusermount3", "-u", *(("-z",) if lazy else ())]
    problem = ""
    for _ in range(_UNMOUNT_TRIES):
        if mounted(point) is None:
            return
        try:
            run_tool(*command, str(point))
        except HostError as error:
            problem = error.found
            clock.sleep(_UNMOUNT_PAUSE_S)
    raise HostError(
        f"The {what} cannot be unmounted: {point}.",
        found=problem,
        todo="end what uses it (servers, shells, open files), then try again",
    )
