"""The disk that forgets, with real file systems on it: what was synced is there after a cut, what was not may be gone;
errors reach the writer; nothing is left behind."""

from __future__ import annotations

import errno
import mmap
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno.cli.common import SystemClock
from dbdyno.crash.disk import CrashStates, FileSystem, RecordingDisk, clean, plan_states, why_not
from dbdyno.crash.powerloss import CrashState
from dbdyno.model.errors import HostError

_SIZE_BYTES = 512 << 20
"""The least that mkfs.xfs takes is 300 MiB."""
_FILES = 24


@pytest.fixture(params=["ext4", "xfs", "btrfs"])
def file_system(request: pytest.FixtureRequest) -> FileSystem:
    name: FileSystem = request.param
    if reason := why_not(name):
        pytest.skip(reason)
    return name


@pytest.fixture
def folder(tmp_path: Path, clock: SystemClock) -> Iterator[Path]:
    yield tmp_path / "disk"
    clean(tmp_path / "disk", clock)
    _nothing_is_left(tmp_path)


def _nothing_is_left(folder: Path) -> None:
    assert str(folder) not in Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    for backing in Path("/sys/class/block").glob("loop*/loop/backing_file"):
        assert str(folder) not in backing.read_text(encoding="utf-8")
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = process.read_bytes().decode(errors="replace")
        except OSError:
            continue
        assert not ("dyno-powerloss" in words and str(folder) in words)


def _content(number: int) -> bytes:
    return bytes([number + 1]) * 30_000


def _write(path: Path, content: bytes, *, synced: bool) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        if synced:
            os.fsync(file.fileno())
    if synced:
        above = os.open(path.parent, os.O_RDONLY)
        os.fsync(above)
        os.close(above)


def _errors(*numbers: int) -> str:
    return "|".join(rf"Errno {number}\b" for number in numbers)


def _stamp(disk: RecordingDisk) -> int:
    with disk.stamp_file.open("rb") as file, mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ) as page:
        return int(struct.unpack_from("<Q", page)[0])


def _record(folder: Path, file_system: FileSystem, clock: SystemClock) -> dict[str, int]:
    """Files of which every third is synced; returns the stamps of those."""
    acknowledged = {}
    with RecordingDisk(folder, _SIZE_BYTES, file_system, clock) as disk:
        _write(disk.point / "before", b"base", synced=False)
        disk.make_base()
        flushes = disk.flushes()
        for number in range(_FILES):
            _write(disk.point / f"file-{number}", _content(number), synced=number % 3 == 0)
            if number % 3 == 0:
                acknowledged[f"file-{number}"] = _stamp(disk)
        assert disk.flushes() >= flushes + _FILES // 3
        assert disk.status()["error"] == ""
        disk.write_hints(lambda name: "data")
        disk.cut()
    return acknowledged


def _holds(point: Path, name: str) -> bool:
    path = point / name
    return path.exists() and path.read_bytes() == _content(int(name.removeprefix("file-")))


def test_what_was_synced_survives_every_cut_and_what_was_not_may_be_gone(
    file_system: FileSystem, folder: Path, clock: SystemClock
) -> None:
    acknowledged = _record(folder, file_system, clock)
    states = plan_states(folder, 1, 18)
    assert states == plan_states(folder, 1, 18)
    assert len({state.kind for state in states}) >= 4
    covered, gone, caught = 0, 0, 0
    with CrashStates(folder, clock) as shown:
        for state in states:
            with shown.mounted(state) as mounted:
                assert mounted.mount_error == "", mounted.fsck
                assert (mounted.point / "before").read_bytes() == b"base"
                there = {name for name in (f"file-{number}" for number in range(_FILES)) if _holds(mounted.point, name)}
                needed = {name for name, stamp in acknowledged.items() if stamp <= state.flush_seq}
                assert needed <= there, state
                covered += len(needed)
                gone += _FILES - len(there)
                # The judge itself must be able to fail: acknowledgements that no flush covered are missed.
                caught += not (set(acknowledged) <= there)
    assert covered > 0
    assert gone > 0
    assert caught > 0


def test_a_state_is_the_same_again_and_forgets_what_was_written_to_it(
    file_system: FileSystem, folder: Path, clock: SystemClock
) -> None:
    _record(folder, file_system, clock)
    state = plan_states(folder, 2, 10)[-1]
    listings = []
    with CrashStates(folder, clock) as shown:
        for _ in range(2):
            with shown.mounted(state) as mounted:
                listings.append({path.name: path.stat().st_size for path in mounted.point.iterdir() if path.is_file()})
                _write(mounted.point / "later", b"x" * 100_000, synced=True)
    assert listings[0] == listings[1]
    assert "later" not in listings[1]


def test_a_disk_without_a_file_system_is_a_finding_and_no_error(folder: Path, clock: SystemClock) -> None:
    if reason := why_not("ext4"):
        pytest.skip(reason)
    _record(folder, "ext4", clock)
    empty = CrashState(
        id="empty", kind="flush", flush_seq=0, next_flush_seq=None, seed=0, event=0, rank=0, why="", picked_by="rank",
        flush_time_monotonic_s=0.0, time_monotonic_s=0.0,
    )  # fmt: skip
    with CrashStates(folder, clock) as shown, shown.mounted(empty) as mounted:
        assert mounted.mount_error
        assert "superblock" in mounted.fsck.lower()


def test_an_error_of_fsync_reaches_the_writer(file_system: FileSystem, folder: Path, clock: SystemClock) -> None:
    with RecordingDisk(folder, _SIZE_BYTES, file_system, clock) as disk:
        _write(disk.point / "fine", b"x", synced=True)
        disk.fault("eio_on_fsync=1")
        with pytest.raises(OSError, match=_errors(errno.EIO, errno.EROFS)):
            _write(disk.point / "lost", b"x" * 100_000, synced=True)


def test_a_full_disk_reaches_the_writer(folder: Path, clock: SystemClock) -> None:
    if reason := why_not("ext4"):
        pytest.skip(reason)
    with RecordingDisk(folder, _SIZE_BYTES, "ext4", clock) as disk:
        disk.fault("full_after=1000000")
        with pytest.raises(OSError, match=_errors(errno.EIO, errno.ENOSPC, errno.EROFS)):
            _write(disk.point / "big", b"x" * 4_000_000, synced=True)


def test_a_recording_without_room_is_an_error_of_ours_and_no_finding(folder: Path, clock: SystemClock) -> None:
    if reason := why_not("ext4"):
        pytest.skip(reason)
    with RecordingDisk(folder, _SIZE_BYTES, "ext4", clock, log_bytes_max=4_000_000) as disk:
        _write(disk.point / "fine", b"x", synced=True)
        disk.make_base()
        with pytest.raises(OSError, match=_errors(errno.EIO, errno.ENOSPC, errno.EROFS)):
            _write(disk.point / "big", b"x" * 8_000_000, synced=True)
        assert "limit of the log" in disk.status()["error"]
        with pytest.raises(HostError, match="recording of the disk failed"):
            disk.cut()
    states = plan_states(folder, 1, 5)
    with CrashStates(folder, clock) as shown, shown.mounted(states[0]) as mounted:
        assert (mounted.point / "fine").read_bytes() == b"x", "what was recorded before is right"


def test_an_unknown_fault_and_a_second_recording_are_refused(folder: Path, clock: SystemClock) -> None:
    if reason := why_not("ext4"):
        pytest.skip(reason)
    with RecordingDisk(folder, _SIZE_BYTES, "ext4", clock) as disk, pytest.raises(HostError, match="refuses"):
        disk.fault("gremlins=1")
    with pytest.raises(HostError, match="already holds"):
        RecordingDisk(folder, _SIZE_BYTES, "ext4", clock).open()


def test_a_killed_recorder_leaves_what_clean_removes(file_system: FileSystem, folder: Path, clock: SystemClock) -> None:
    disk = RecordingDisk(folder, _SIZE_BYTES, file_system, clock)
    disk.open()
    _write(disk.point / "file", b"x" * 100_000, synced=True)
    assert disk.process_id is not None
    os.kill(disk.process_id.pid, signal.SIGKILL)
    clean(folder, clock)
    _nothing_is_left(folder)
    disk.close()


_VICTIM = """
import sys, time
from pathlib import Path
from dbdyno.cli.common import SystemClock
from dbdyno.crash.disk import RecordingDisk
disk = RecordingDisk(Path(sys.argv[1]), int(sys.argv[2]), "ext4", SystemClock())
disk.open()
(disk.point / "file").write_bytes(b"x" * 100_000)
print("ready", flush=True)
time.sleep(60)
"""


def test_a_killed_dyno_leaves_what_clean_removes(folder: Path, clock: SystemClock) -> None:
    if reason := why_not("ext4"):
        pytest.skip(reason)
    argv = [sys.executable, "-c", _VICTIM, str(folder), str(_SIZE_BYTES)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as victim:
        assert victim.stdout is not None
        assert victim.stdout.readline() == "ready\n"
        assert str(folder) in Path("/proc/self/mountinfo").read_text(encoding="utf-8")
        victim.kill()
    clean(folder, clock)
    _nothing_is_left(folder)
    assert plan_states(folder, 1, 3), "the recording is there and can be read"
