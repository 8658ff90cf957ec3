"""The recorded disk without one: finding the program, reading its states, saying what is missing."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from dbdyno.crash import disk, powerloss
from dbdyno.crash.powerloss import CrashState, find_powerloss
from dbdyno.model.errors import HostError
from dbdyno.model.record import from_json, to_json

_LINE = (
    '{"id":"0000-torn4k-79-80","kind":"torn4k","flush_seq":79,"next_flush_seq":81,"seed":12,"event":80,"rank":85,'
    '"why":"data page write in flight","picked_by":"rank","flush_time_monotonic_s":1.5,"time_monotonic_s":1.75}'
)


class NoClock:
    """Nothing here waits."""

    def monotonic(self) -> float:
        raise AssertionError("nobody should look")

    unix = monotonic

    def sleep(self, seconds: float) -> None:
        raise AssertionError("nobody should wait")


def _program(folder: Path, script: str) -> Path:
    program = folder / "dyno-powerloss"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def test_a_state_is_read_as_the_program_writes_it() -> None:
    state = from_json(_LINE, CrashState)
    assert (state.kind, state.flush_seq, state.next_flush_seq) == ("torn4k", 79, 81)
    assert from_json(to_json(state), CrashState) == state
    assert powerloss.state_json(state)["seed"] == 12


def test_the_program_is_found_where_the_environment_says(tmp_path: Path) -> None:
    program = _program(tmp_path, "exit 0")
    assert find_powerloss({"DYNO_POWERLOSS": str(program)}) == program
    assert find_powerloss({"PATH": str(tmp_path)}).name == "dyno-powerloss"
    with pytest.raises(HostError, match="names no program"):
        find_powerloss({"DYNO_POWERLOSS": str(tmp_path / "missing")})


def test_states_are_planned_by_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = _program(tmp_path, f"echo \"$@\" > {tmp_path}/words\ncat <<'EOF'\n{_LINE}\nEOF")
    monkeypatch.setenv("DYNO_POWERLOSS", str(program))
    states = disk.plan_states(tmp_path / "disk", 7, 1, kinds=("flush", "torn4k"))
    assert [state.event for state in states] == [80]
    words = (tmp_path / "words").read_text(encoding="utf-8").split()
    assert words == [
        *("plan", "--store", str(tmp_path / "disk" / "store"), "--seed", "7", "--states", "1"),
        *("--kinds", "flush,torn4k"),
    ]


@pytest.mark.parametrize("script", ["echo no recording >&2; exit 2", "echo '{}'", "echo nonsense"])
def test_a_program_that_fails_or_babbles_is_an_error(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNO_POWERLOSS", str(_program(tmp_path, script)))
    with pytest.raises(HostError):
        powerloss.plan_states(tmp_path, 1, 1)


def test_without_root_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert disk.why_not("ext4") == "only root can attach loop devices and mount a recorded disk"


@pytest.mark.parametrize("missing", ["/dev/fuse", "/dev/loop-control"])
def test_a_missing_device_is_named(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(Path, "exists", lambda self: str(self) != missing)
    assert missing in disk.why_not("xfs")


def test_a_missing_tool_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(Path, "exists", lambda self: True)
    monkeypatch.setattr(disk, "tool", lambda name: None if name.startswith("mkfs") else f"/sbin/{name}")
    assert disk.why_not("btrfs") == "mkfs.btrfs is not installed (package btrfs-progs)"


def test_cleaning_where_nothing_is_does_nothing(tmp_path: Path) -> None:
    disk.clean(tmp_path / "missing", NoClock())
    disk.clean(tmp_path, NoClock())
    assert list(tmp_path.iterdir()) == []


def test_the_ranges_of_a_file_cover_it_where_its_file_system_tells(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * 100_000)
    with file.open("rb+") as opened:
        os.fsync(opened.fileno())
    ranges = disk.file_ranges(file)
    assert ranges == [] or sum(length for _, length in ranges) >= 100_000
