"""What the disk is made to do wrong, and which file it is that fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dbdyno.crash.faults import Failing, most_grown, parse_fault
from dbdyno.crash.hooks import NoIntegrity, controls_of, parse_controls
from dbdyno.crash.recorder import Recorder
from dbdyno.engines.registry import engines
from dbdyno.model.errors import DriverError, UsageError
from dbdyno.model.knob import Level


class Disk(Recorder):
    """Is asked, and does nothing."""

    def __init__(self, point: Path) -> None:
        self._point, self._store = point, point / "store"
        self.asked: list[dict[str, Any]] = []
        self.faults = 0

    def open(self) -> None:
        raise AssertionError

    close = make_base = open

    def _ask(self, do: str, **more: Any) -> dict[str, Any]:
        if do != "status":
            self.asked.append({"do": do, **more})
        return {"flush_seq": 7, "faults": self.faults}


class AllData(NoIntegrity):
    def role_of(self, path: str) -> str:
        return "data" if path.startswith("d") else "log"


def test_a_fault_is_read_and_its_size_understood() -> None:
    assert parse_fault("") == ""
    assert parse_fault("eio_on_fsync=3") == "eio_on_fsync=3"
    assert parse_fault("eio_on_data=2") == "eio_on_data=2"
    assert parse_fault("full_after=3M") == "full_after=3145728"


@pytest.mark.parametrize("words", ["eio", "eio_on_fsync=", "eio_on_fsync=0", "eio_on_data=x", "full_after=", "x=1"])
def test_what_is_no_fault_is_refused(words: str) -> None:
    with pytest.raises(UsageError):
        parse_fault(words)


def test_the_file_that_grows_most_is_found() -> None:
    before, now = {"a": 10, "b": 10, "gone": 5}, {"a": 30, "b": 15, "new": 99}
    assert [most_grown(before, now, rank) for rank in (1, 2)] == ["a", "b"]
    with pytest.raises(DriverError, match="not so many"):
        most_grown(before, now, 3)


def test_a_fault_of_the_disk_strikes_from_the_start(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    failing = Failing("full_after=9", disk, AllData(), 4.0, unheard=True)
    failing.begin()
    failing.go_on(2.0)
    assert disk.asked == [{"do": "fault", "fault": "full_after=9", "unheard": True}]
    assert failing.since_flush == 0


def test_a_fault_of_a_file_strikes_once_it_is_known_which(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    for name in ("d/small", "d/large", "log"):
        (tmp_path / name).write_bytes(b"")
    disk = Disk(tmp_path)
    failing = Failing("eio_on_data=1", disk, AllData(), 4.0, unheard=False)
    failing.begin()
    (tmp_path / "d/large").write_bytes(b"x" * 9)
    (tmp_path / "log").write_bytes(b"x" * 99)
    failing.go_on(0.9)
    assert disk.asked == []
    for at_s in (1.0, 1.2):
        failing.go_on(at_s)
    assert disk.asked == [{"do": "fault", "fault": "eio_on_fsync=1", "unheard": False, "file": "d/large"}]
    assert "d/large" in failing.says
    assert failing.since_flush == 7


def test_a_disk_that_did_not_fail_before_the_end_proves_nothing(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    with pytest.raises(DriverError, match="not asked to do what fails"):
        Failing("eio_on_fsync=9", disk, AllData(), 4.0, unheard=False).end()
    Failing("", disk, AllData(), 4.0, unheard=False).end()
    disk.faults = 1
    Failing("eio_on_fsync=9", disk, AllData(), 4.0, unheard=False).end()


@pytest.mark.parametrize("engine", sorted(engines()))
def test_every_engine_has_a_control_of_a_disk_that_fails(engine: str) -> None:
    for fault in ("eio_on_fsync=1", "eio_on_data=1", "full_after=9"):
        found = {control.name: control for control in controls_of(engine, 10**9, fault)}
        assert found["unheard"].unheard
        assert found["unheard"].level < Level.L3
        assert all(control.fault == fault.partition("=")[0] for control in found.values())
    assert not any(control.fault or control.unheard for control in controls_of(engine, 10**9))


def test_a_control_says_which_fault_it_takes() -> None:
    text = '[[control]]\nname = "a"\nlevel = "L1"\nsettings = {}\nsays = "x"\nfault = "eio_on_data"\n'
    assert parse_controls(text, 1)[0].fault == "eio_on_data"
