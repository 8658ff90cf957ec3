"""The recorded folder: what Linux promises of files and names after fsync, and nothing more."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno.cli.common import SystemClock
from dbdyno.crash.folder import FolderStates, RecordingFolder, clean_folder, plan_folder_states, why_not_folder
from dbdyno.crash.powerloss import CrashState, find_powerloss
from dbdyno.model.errors import HostError

pytestmark = pytest.mark.skipif(why_not_folder() != "", reason=why_not_folder() or "-")


@pytest.fixture
def folder(tmp_path: Path, clock: SystemClock) -> Iterator[Path]:
    yield tmp_path / "recorded"
    clean_folder(tmp_path / "recorded", clock)
    assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text(encoding="utf-8")


def _sync(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _state(flush_seq: int, kind: str = "flush", event: int = 0) -> CrashState:
    return CrashState(
        id="one", kind=kind, flush_seq=flush_seq, next_flush_seq=None, seed=3, event=event, rank=0, why="",
        picked_by="rank", flush_time_monotonic_s=0.0, time_monotonic_s=0.0,
    )  # fmt: skip


def _tree(point: Path) -> dict[str, bytes]:
    return {str(path.relative_to(point)): path.read_bytes() for path in point.rglob("*") if path.is_file()}


def test_a_rename_without_a_sync_of_its_folder_is_taken_back(folder: Path, clock: SystemClock) -> None:
    with RecordingFolder(folder, clock) as recorded:
        point = recorded.point
        (point / "below").mkdir()
        (point / "below" / "name").write_bytes(b"old")
        recorded.make_base()
        (point / "below" / "new").write_bytes(b"new")
        _sync(point / "below" / "new")
        (point / "below" / "new").rename(point / "below" / "name")
        before = recorded.status()
        _sync(point / "below")
        after = recorded.status()
        assert (point / "below" / "name").read_bytes() == b"new"
    with FolderStates(folder, clock) as states:
        with states.mounted(_state(before["flush_seq"])) as shown:
            assert _tree(shown.point) == {"below/name": b"old", "below/new": b"new"}
        with states.mounted(_state(before["flush_seq"], "prefix", before["events"])) as shown:
            assert _tree(shown.point) == {"below/name": b"new"}
        with states.mounted(_state(after["flush_seq"])) as shown:
            assert _tree(shown.point) == {"below/name": b"new"}


def test_every_change_is_recorded_and_replayed_whole(folder: Path, clock: SystemClock) -> None:
    with RecordingFolder(folder, clock) as recorded:
        point = recorded.point
        (point / "base").write_bytes(b"b" * 10_000)
        (point / "gone").write_bytes(b"g")
        recorded.make_base()
        with (point / "base").open("rb+") as file:
            file.seek(5_000)
            file.write(b"c" * 10_000)
            os.posix_fallocate(file.fileno(), 0, 20_000)
            file.truncate(18_000)
        (point / "gone").unlink()
        (point / "d" / "e").mkdir(parents=True)
        (point / "d" / "e" / "f").write_bytes(b"f" * 70_000)
        (point / "d" / "e" / "f").chmod(0o640)
        (point / "d" / "g").symlink_to("e/f")
        os.link(point / "d" / "e" / "f", point / "h")
        (point / "d" / "e").rename(point / "moved")
        (point / "moved" / "f").rename(point / "i")
        (point / "moved").rmdir()
        live = _tree(point)
        assert recorded.status()["error"] == ""
        last = recorded.status()["events"]
    with FolderStates(folder, clock) as states:
        base = next(one.flush_seq for one in plan_folder_states(folder, 1, 1))
        with states.mounted(_state(base)) as shown:
            assert _tree(shown.point) == {"base": b"b" * 10_000, "gone": b"g"}
        with states.mounted(_state(base, "prefix", last)) as shown:
            assert _tree(shown.point) == live
            assert live["base"] == b"b" * 5_000 + b"c" * 10_000 + bytes(3_000)
            assert os.readlink(shown.point / "d" / "g") == "e/f"
            assert (shown.point / "i").stat().st_mode & 0o777 == 0o640
            assert (shown.point / "i").samefile(shown.point / "h")


def test_what_was_synced_is_in_every_state(folder: Path, clock: SystemClock) -> None:
    synced: dict[str, int] = {}
    with RecordingFolder(folder, clock) as recorded:
        recorded.make_base()
        for number in range(30):
            path = recorded.point / f"file-{number}"
            path.write_bytes(bytes([number + 1]) * 20_000)
            if number % 3 == 0:
                _sync(path)
                synced[path.name] = recorded.status()["flush_seq"]
        recorded.cut()
        with pytest.raises(OSError, match=f"Errno {errno.EIO}"):
            (recorded.point / "after").write_bytes(b"x")
    planned = plan_folder_states(folder, 5, 40)
    assert planned == plan_folder_states(folder, 5, 40)
    assert len({state.kind for state in planned}) >= 5
    gone, torn = 0, 0
    with FolderStates(folder, clock) as states:
        for state in planned:
            with states.mounted(state) as shown:
                tree = _tree(shown.point)
                for name, stamp in synced.items():
                    if stamp <= state.flush_seq:
                        assert tree[name] == bytes([int(name.removeprefix("file-")) + 1]) * 20_000, state
                gone += 30 - len(tree)
                torn += any(0 < len(set(content)) != 1 for content in tree.values())
    assert gone > 0
    assert torn > 0


def test_pages_of_a_failed_fsync_are_lost_although_the_next_one_succeeds(folder: Path, clock: SystemClock) -> None:
    with RecordingFolder(folder, clock) as recorded:
        path = recorded.point / "file"
        path.write_bytes(b"a" * 4096)
        recorded.make_base()
        recorded.fault("eio_on_fsync=1")
        path.write_bytes(b"b" * 4096)
        with pytest.raises(OSError, match=f"Errno {errno.EIO}"):
            _sync(path)
        _sync(path)
        assert path.read_bytes() == b"b" * 4096
        last = recorded.status()["flush_seq"]
    with FolderStates(folder, clock) as states, states.mounted(_state(last)) as shown:
        assert _tree(shown.point) == {"file": b"a" * 4096}


def test_a_full_folder_says_so(folder: Path, clock: SystemClock) -> None:
    with RecordingFolder(folder, clock, fault="full_after=10000") as recorded:
        (recorded.point / "small").write_bytes(b"x" * 8_000)
        with pytest.raises(OSError, match=f"Errno {errno.ENOSPC}"):
            (recorded.point / "big").write_bytes(b"x" * 8_000)


def test_a_second_recording_and_an_unknown_fault_are_refused(folder: Path, clock: SystemClock) -> None:
    with RecordingFolder(folder, clock) as recorded, pytest.raises(HostError, match="refuses"):
        recorded.fault("gremlins=1")
    with pytest.raises(HostError, match="already holds"):
        RecordingFolder(folder, clock).open()


def test_a_killed_recorder_leaves_what_clean_removes(folder: Path, clock: SystemClock) -> None:
    recorded = RecordingFolder(folder, clock)
    recorded.open()
    (recorded.point / "file").write_bytes(b"x")
    assert recorded.process_id is not None
    os.kill(recorded.process_id.pid, signal.SIGKILL)
    clean_folder(folder, clock)
    assert str(folder) not in Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    recorded.close()


_USER = """
import os, sys
from pathlib import Path
from dbdyno.cli.common import SystemClock
from dbdyno.crash.folder import FolderStates, RecordingFolder, plan_folder_states
# After the imports: Python itself may lie where only root may read.
os.setgroups([]); os.setgid(65534); os.setuid(65534)
folder, clock = Path(sys.argv[1]) / "of-nobody", SystemClock()
with RecordingFolder(folder, clock) as recorded:
    (recorded.point / "file").write_bytes(b"x" * 5000)
    opened = os.open(recorded.point / "file", os.O_RDONLY)
    os.fsync(opened)
    os.close(opened)
    last = recorded.status()["flush_seq"]
state = [one for one in plan_folder_states(folder, 1, 10) if one.flush_seq == last][0]
with FolderStates(folder, clock) as states, states.mounted(state) as shown:
    print((shown.point / "file").read_bytes() == b"x" * 5000)
"""


def test_it_works_without_root() -> None:
    if os.geteuid() != 0 or not Path("/usr/bin/fusermount3").exists():
        pytest.skip("needs root, to give it up, and fusermount3")
    with tempfile.TemporaryDirectory(prefix="dyno-test-") as name:
        os.chmod(name, 0o777)
        probe = subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "test", "-x", str(find_powerloss())],
            check=False,
        )
        if probe.returncode != 0:
            pytest.skip("another user may not run the program where it lies")
        done = subprocess.run(
            [sys.executable, "-c", _USER, name], capture_output=True, text=True, check=False, timeout=60
        )
        assert done.stdout == "True\n", done.stderr
