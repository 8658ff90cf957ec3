"""A file system on a disk that records, and the states that a power cut could have left of it.

`RecordingDisk` carries ext4, xfs or btrfs on a loop device over the image that `dyno-powerloss` serves; the loop
device passes every flush on as fsync. `CrashStates` mounts one state after another, copy on write. Sources: Linux
manual pages losetup(8), mount(8); kernel documentation "Explicit volatile write back cache control" (block layer) and
"Fiemap Ioctl".
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from dbdyno.crash import powerloss
from dbdyno.crash.powerloss import KINDS, CrashState, Powerloss, state_json
from dbdyno.crash.recorder import Recorder, unmount
from dbdyno.model.clock import Clock
from dbdyno.model.errors import HostError
from dbdyno.model.record import Record
from dbdyno.sandbox import process
from dbdyno.sandbox.disk import parse_mountinfo, run_tool, tool
from dbdyno.sandbox.process import ProcessId
from dbdyno.sandbox.records import read_record, write_record

FileSystem = Literal["ext4", "xfs", "btrfs"]

_MKFS = {
    # Without background initialisation, which would write for minutes; discarding an empty image is vain.
    "ext4": ("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"),
    "xfs": ("mkfs.xfs", "-q", "-f", "-K"),
    "btrfs": ("mkfs.btrfs", "-q", "-f", "-K"),
}
# A state may be mounted while another file system with its number is: a copy of itself.
_OPTIONS = {"ext4": "noatime", "xfs": "noatime,nouuid", "btrfs": "noatime"}
_FSCK = {"ext4": ("e2fsck", "-fn"), "xfs": ("xfs_repair", "-n"), "btrfs": ("btrfs", "check", "--readonly")}
_PACKAGES = {"ext4": "e2fsprogs", "xfs": "xfsprogs", "btrfs": "btrfs-progs"}
_FSCK_S = 120.0
_FSCK_TEXT_MAX = 8000
_WHAT = "recorded disk"


class DiskRecord(Record, frozen=True, kw_only=True):
    """`disk.json`: what must be found again after a kill."""

    file_system: str
    size_bytes: int
    processes: tuple[ProcessId, ...] = ()


@dataclass(frozen=True)
class _Places:
    """Where things are in the folder."""

    folder: Path

    @property
    def store(self) -> Path:
        return self.folder / "store"

    @property
    def fuse(self) -> Path:
        return self.folder / "fuse"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def states(self) -> Path:
        return self.folder / "states"

    @property
    def record(self) -> Path:
        return self.folder / "disk.json"

    @property
    def log(self) -> Path:
        return self.folder / "powerloss.log"


def why_not(file_system: str) -> str:
    """Why this machine cannot carry such a disk; empty when it can, as far as can be told without trying."""
    if os.geteuid() != 0:
        return "only root can attach loop devices and mount a recorded disk"
    if not Path("/dev/fuse").exists():
        return "this machine has no FUSE (/dev/fuse is missing)"
    if not Path("/dev/loop-control").exists():
        return "this machine has no loop devices (/dev/loop-control is missing)"
    for name, package in (
        ("losetup", "mount"), ("mount", "mount"), (_MKFS[file_system][0], _PACKAGES[file_system])
    ):  # fmt: skip
        if tool(name) is None:
            return f"{name} is not installed (package {package})"
    try:
        powerloss.find_powerloss()
    except HostError as error:
        return f"{error.what} {error.todo}"
    return ""


class RecordingDisk(Recorder):
    """A mounted file system whose disk remembers every write and every flush."""

    def __init__(
        self,
        folder: Path,
        size_bytes: int,
        file_system: FileSystem,
        clock: Clock,
        *,
        fault: str = "",
        log_bytes_max: int | None = None,
    ) -> None:
        """Nothing is done yet. `folder` must not hold a recording and lies on a disk with room for all that will be
        written, or for `log_bytes_max`; `fault` is `eio_on_fsync=N` or `full_after=BYTES`."""
        self._places = _Places(folder.resolve())
        super().__init__(self._places.store, self._places.data, clock)
        self._size_bytes, self._file_system = size_bytes, file_system
        self._fault, self._log_bytes_max = fault, log_bytes_max

    def open(self) -> None:
        """Starts the recording process, makes the file system and mounts it. Raises `HostError`."""
        if reason := why_not(self._file_system):
            raise HostError("A disk that records cannot be had here.", found=reason)
        places = self._places
        if (places.store / "events").exists():
            raise HostError("The folder already holds a recording.", found=str(places.store), todo="name another one")
        for folder in (places.folder, places.store, places.fuse, places.data):
            folder.mkdir(parents=True, exist_ok=True)
        try:
            self._start()
            device = _attach(places.fuse / "disk.img")
            run_tool(*_MKFS[self._file_system], device)
            run_tool("mount", "-t", self._file_system, "-o", _OPTIONS[self._file_system], device, str(places.data))
        except BaseException:
            clean(places.folder, self._clock)
            raise

    def _start(self) -> None:
        places = self._places
        record = DiskRecord(file_system=self._file_system, size_bytes=self._size_bytes)
        write_record(places.record, record)
        arguments = ["serve", "--store", str(places.store), "--mount", str(places.fuse), "--size"]
        arguments += [str(self._size_bytes), *(("--fault", self._fault) if self._fault else ())]
        if self._log_bytes_max is not None:
            arguments += ["--log-max", str(self._log_bytes_max)]
        self._process = Powerloss(arguments, places.store / "control.sock", places.log, self._clock)
        _remember(places, self._process)

    def make_base(self) -> None:
        """Makes all that is there the start: crash states lie after it. The file system is synced before. Raises
        `HostError`, also when the recording has lost something."""
        _sync(self.point)
        self._ask("base")
        self._require_whole()

    def write_hints(self, role_of: Callable[[str], str]) -> None:
        """Tells the planner which file lies where; `role_of` gives a path's role: `log`, `data`, `doublewrite`,
        `header` or `other`. Does nothing on btrfs, whose addresses are not those of the disk."""
        if self._file_system == "btrfs":
            return
        files = []
        for folder, _, names in os.walk(self.point):
            for name in sorted(names):
                path = Path(folder, name)
                if path.is_file() and not path.is_symlink() and (ranges := file_ranges(path)):
                    relative = str(path.relative_to(self.point))
                    files.append({"name": relative, "role": role_of(relative), "ranges": ranges})
        (self._places.store / "hints.json").write_text(json.dumps({"files": files}), encoding="utf-8")

    def close(self) -> None:
        """Unmounts, detaches and stops; the recording stays. Harmless when it is closed. Raises `HostError` when
        something still uses the file system."""
        if self._process is None:
            return
        unmount(self._places.data, self._clock, _WHAT)
        _detach(self._places.fuse)
        self._process.stop()
        self._process = None
        clean(self._places.folder, self._clock)


@dataclass(frozen=True)
class MountedState:
    """A crash state as a file system."""

    point: Path
    device: str
    journal_replay_s: float
    """How long mounting took, which includes the replay of the file system's journal."""
    mount_error: str
    """Why it cannot be mounted, which is a finding; empty: it is mounted."""
    fsck: str
    """What the file system's checker says when it cannot be mounted."""


def plan_states(folder: Path, seed: int, count: int, kinds: Sequence[str] = KINDS) -> list[CrashState]:
    """Crash states of the recording in a `RecordingDisk`'s folder; see `powerloss.plan_states`."""
    return powerloss.plan_states(_Places(folder.resolve()).store, seed, count, kinds)


class CrashStates:
    """Shows states of a closed recording, one process for all of them. A context manager."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._places = _Places(folder.resolve())
        self._clock = clock
        self._process: Powerloss | None = None
        self._file_system = ""

    def __enter__(self) -> Self:
        """Raises `HostError`."""
        places = self._places
        self._file_system = read_record(places.record, DiskRecord).file_system
        if reason := why_not(self._file_system):
            raise HostError("Crash states cannot be shown here.", found=reason)
        clean(places.folder, self._clock)
        fuse = places.states / "fuse"
        fuse.mkdir(parents=True, exist_ok=True)
        try:
            arguments = ["present", "--store", str(places.store), "--mount", str(fuse)]
            self._process = Powerloss(arguments, places.store / "present.sock", places.log, self._clock)
            _remember(places, self._process)
        except BaseException:
            clean(places.folder, self._clock)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.stop()
            self._process = None
        clean(self._places.folder, self._clock)

    @contextlib.contextmanager
    def mounted(self, state: CrashState) -> Iterator[MountedState]:
        """The state's file system for the length of the block; what is written into it is forgotten. Raises
        `HostError`, also when something still uses it at the end."""
        assert self._process is not None, "the states are not open"
        answer = self._process.ask("present", state=state_json(state))
        name = str(answer["file"])
        point = self._places.states / Path(name).stem
        point.mkdir(exist_ok=True)
        device = ""
        try:
            device = _attach(self._places.states / "fuse" / name)
            yield self._mount(device, point)
        finally:
            unmount(point, self._clock, _WHAT)
            if device:
                run_tool("losetup", "--detach", device)
            self._drop(name)
            point.rmdir()

    def _drop(self, name: str) -> None:
        """The kernel closes a loop device's file a moment after it was detached."""
        assert self._process is not None
        if problem := self._process.ask("drop", file=name)["error"]:
            raise HostError(
                "A crash state could not be kept.",
                found=str(problem),
                todo=f"free space under {self._places.store}; what the server met there says nothing about it",
            )

    def _mount(self, device: str, point: Path) -> MountedState:
        began = self._clock.monotonic()
        problem = ""
        try:
            run_tool("mount", "-t", self._file_system, "-o", _OPTIONS[self._file_system], device, str(point))
        except HostError as error:
            problem = error.found or error.what
        took = self._clock.monotonic() - began
        return MountedState(
            point=point,
            device=device,
            journal_replay_s=took,
            mount_error=problem,
            fsck=_fsck(self._file_system, device) if problem else "",
        )


def clean(folder: Path, clock: Clock) -> None:
    """Unmounts, detaches and ends whatever a killed dyno left of the disk in `folder`; the recording stays. Raises
    `HostError` when something still uses it. Harmless when there is nothing."""
    places = _Places(folder.resolve())
    if not places.folder.is_dir():
        return
    ours = [*_mounts_below(places.folder)]
    fuse_mounts = [point for point, kind in ours if kind.startswith("fuse")]
    for point in [point for point, kind in ours if not kind.startswith("fuse")]:
        unmount(point, clock, _WHAT)
    _detach(places.folder)
    for point in fuse_mounts:
        unmount(point, clock, _WHAT, lazy=True)
    record = _record(places)
    if record is not None and record.processes:
        process.kill_all(record.processes, clock)
        write_record(places.record, DiskRecord(file_system=record.file_system, size_bytes=record.size_bytes))
    if places.states.is_dir():
        for leaf in [*places.states.iterdir()]:
            with contextlib.suppress(OSError):
                leaf.rmdir()


def _record(places: _Places) -> DiskRecord | None:
    return read_record(places.record, DiskRecord) if places.record.exists() else None


def _remember(places: _Places, started: Powerloss) -> None:
    record = _record(places)
    identity = started.identity
    if record is not None and identity is not None:
        changed = DiskRecord(
            file_system=record.file_system, size_bytes=record.size_bytes, processes=(*record.processes, identity)
        )
        write_record(places.record, changed)


def _attach(image: Path) -> str:
    """A loop device on the image, past the page cache, so that what is written arrives at once and in order."""
    return run_tool("losetup", "--find", "--show", "--direct-io=on", str(image)).strip()


def _detach(below: Path) -> None:
    """Frees all loop devices on images below a folder."""
    for entry in Path("/sys/class/block").glob("loop*/loop/backing_file"):
        try:
            image = entry.read_text(encoding="utf-8", errors="replace").strip().removesuffix(" (deleted)")
        except OSError:
            continue
        if Path(image).is_relative_to(below):
            run_tool("losetup", "--detach", f"/dev/{entry.parents[1].name}")


def _mounts_below(folder: Path) -> list[tuple[Path, str]]:
    """Mount points in a folder with the kind of file system, the latest first."""
    text = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    found = [(Path(mount.point), mount.kind) for mount in parse_mountinfo(text)]
    return [(point, kind) for point, kind in reversed(found) if point.is_relative_to(folder)]


def _sync(point: Path) -> None:
    run_tool("sync", "--file-system", str(point))


def _fsck(file_system: str, device: str) -> str:
    command = _FSCK[file_system]
    program = shutil.which(command[0], path="/usr/sbin:/sbin:/usr/bin:/bin")
    if program is None:
        return f"{command[0]} is not installed"
    try:
        done = subprocess.run(
            [program, *command[1:], device], capture_output=True, text=True, timeout=_FSCK_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"{command[0]} did not end within {_FSCK_S:.0f} s"
    return (done.stdout + done.stderr)[-_FSCK_TEXT_MAX:]


_FIEMAP = 0xC020660B
_HEADER = struct.Struct("=QQLLLL")
_EXTENT = struct.Struct("=QQQQQLLLL")
_EXTENTS_AT_ONCE = 256
_LAST, _UNKNOWN, _INLINE = 0x1, 0x2, 0x200


def file_ranges(path: Path) -> list[tuple[int, int]]:
    """Where a file lies on its disk: pairs of first byte and length; empty when its file system does not tell."""
    ranges: list[tuple[int, int]] = []
    start = 0
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        # A running server removes files as we look.
        return ranges
    try:
        while True:
            buffer = bytearray(_HEADER.size + _EXTENTS_AT_ONCE * _EXTENT.size)
            _HEADER.pack_into(buffer, 0, start, (1 << 64) - 1 - start, 0, 0, _EXTENTS_AT_ONCE, 0)
            fcntl.ioctl(descriptor, _FIEMAP, buffer)
            found = _HEADER.unpack_from(buffer)[3]
            if found == 0:
                return ranges
            for number in range(found):
                extent = _EXTENT.unpack_from(buffer, _HEADER.size + number * _EXTENT.size)
                logical, physical, length, flags = extent[0], extent[1], extent[2], extent[5]
                if not flags & (_UNKNOWN | _INLINE):
                    ranges.append((physical, length))
                start = logical + length
                if flags & _LAST:
                    return ranges
    except OSError:
        return ranges
    finally:
        os.close(descriptor)
