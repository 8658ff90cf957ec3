"""The mode without root: a folder whose files and names are volatile until they are synced.

`RecordingFolder` is used as a `RecordingDisk`, and `FolderStates` as `CrashStates`, but there is no file system and no
journal of its own: what a power cut leaves follows the rules in docs/reference/powerloss.md.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from dbdyno.crash import powerloss
from dbdyno.crash.disk import MountedState
from dbdyno.crash.powerloss import KINDS, CrashState, Powerloss
from dbdyno.crash.recorder import Recorder, unmount
from dbdyno.model.clock import Clock
from dbdyno.model.errors import HostError
from dbdyno.model.record import Record, from_json, to_json
from dbdyno.sandbox import process
from dbdyno.sandbox.disk import mounted
from dbdyno.sandbox.process import ProcessId
from dbdyno.sandbox.records import write_record

_BUILD_S = 300.0
_WHAT = "recorded folder"
_TOOLS_PATH = "/usr/bin:/bin:/usr/sbin:/sbin"


class FolderRecord(Record, frozen=True, kw_only=True):
    """`folder.json`: what must be found again after a kill."""

    recorder: ProcessId | None = None


@dataclass(frozen=True)
class _Places:
    folder: Path

    @property
    def store(self) -> Path:
        return self.folder / "store"

    @property
    def behind(self) -> Path:
        return self.folder / "behind"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def states(self) -> Path:
        return self.folder / "states"

    @property
    def record(self) -> Path:
        return self.folder / "folder.json"


def why_not_folder() -> str:
    """Why this machine cannot record a folder; empty when it can, as far as can be told without trying."""
    if not Path("/dev/fuse").exists():
        return "this machine has no FUSE (/dev/fuse is missing)"
    if os.geteuid() != 0 and shutil.which("fusermount3", path=_TOOLS_PATH) is None:
        return "fusermount3 is not installed (package fuse3)"
    try:
        powerloss.find_powerloss()
    except HostError as error:
        return f"{error.what} {error.todo}"
    return ""


class RecordingFolder(Recorder):
    """A folder that remembers every change and every fsync."""

    what = "folder"

    def __init__(self, folder: Path, clock: Clock, *, fault: str = "") -> None:
        """Nothing is done yet. `folder` must not hold a recording; `fault` is `eio_on_fsync=N` or
        `full_after=BYTES`."""
        self._places = _Places(folder.resolve())
        super().__init__(self._places.store, self._places.data, clock)
        self._fault = fault

    def open(self) -> None:
        """Starts the recording process. Raises `HostError`."""
        if reason := why_not_folder():
            raise HostError("A folder cannot be recorded here.", found=reason)
        places = self._places
        if (places.store / "ops").exists():
            raise HostError("The folder already holds a recording.", found=str(places.store), todo="name another one")
        for folder in (places.folder, places.store, places.behind, places.data):
            folder.mkdir(parents=True, exist_ok=True)
        arguments = ["dir-serve", "--store", str(places.store), "--behind", str(places.behind)]
        arguments += ["--mount", str(places.data), *(("--fault", self._fault) if self._fault else ())]
        log = places.folder / "powerloss.log"
        try:
            self._process = Powerloss(arguments, places.store / "control.sock", log, self._clock)
            write_record(places.record, FolderRecord(recorder=self._process.identity))
        except BaseException:
            clean_folder(places.folder, self._clock)
            raise

    def make_base(self) -> None:
        """Makes all that is there the start: crash states lie after it. The folder is copied. Raises `HostError`,
        also when the recording has lost something."""
        self._ask("base")
        self._require_whole()

    def close(self) -> None:
        """Unmounts and stops; the recording stays. Harmless when it is closed. Raises `HostError` when something
        still uses the folder."""
        if self._process is None:
            return
        unmount(self._places.data, self._clock, _WHAT)
        self._process.stop()
        self._process = None
        clean_folder(self._places.folder, self._clock)


def plan_folder_states(folder: Path, seed: int, count: int, kinds: Sequence[str] = KINDS) -> list[CrashState]:
    """Crash states of the recording in a `RecordingFolder`'s folder; see `powerloss.plan_states`."""
    return powerloss.plan_states(_Places(folder.resolve()).store, seed, count, kinds, verb="dir-plan")


class FolderStates:
    """Builds states of a closed recording, each as a plain folder. A context manager."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._places = _Places(folder.resolve())
        self._clock = clock

    def __enter__(self) -> Self:
        """Raises `HostError`."""
        clean_folder(self._places.folder, self._clock)
        self._places.states.mkdir(exist_ok=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        clean_folder(self._places.folder, self._clock)

    @contextlib.contextmanager
    def mounted(self, state: CrashState) -> Iterator[MountedState]:
        """The state as a folder for the length of the block. Raises `HostError`."""
        point = self._places.states / "state"
        shutil.rmtree(point, ignore_errors=True)
        point.mkdir()
        try:
            self._build(state, point)
            yield MountedState(point=point, device="", journal_replay_s=0.0, mount_error="", fsck="")
        finally:
            shutil.rmtree(point, ignore_errors=True)

    def _build(self, state: CrashState, point: Path) -> None:
        argv = [str(powerloss.find_powerloss()), "dir-present", "--store", str(self._places.store)]
        argv += ["--state", to_json(state).decode(), "--target", str(point)]
        try:
            done = subprocess.run(argv, capture_output=True, text=True, timeout=_BUILD_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise HostError("The crash state cannot be built.", found=str(error)) from None
        if done.returncode != 0:
            raise HostError("The crash state cannot be built.", found=done.stderr.strip())


def clean_folder(folder: Path, clock: Clock) -> None:
    """Unmounts and ends whatever a killed dyno left of the recording in `folder`, which stays. Harmless when there is
    nothing."""
    places = _Places(folder.resolve())
    if not places.record.exists() and mounted(places.data) is None:
        return
    unmount(places.data, clock, _WHAT, lazy=True)
    if places.record.exists():
        record = from_json(places.record.read_bytes(), FolderRecord)
        if record.recorder is not None:
            process.kill_all([record.recorder], clock)
        write_record(places.record, FolderRecord())
    shutil.rmtree(places.states, ignore_errors=True)
