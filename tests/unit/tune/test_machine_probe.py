"""The short look at the machine, and what it makes of it."""

from __future__ import annotations

from pathlib import Path

from dbdyno.tune.machine_probe import odd, probe_machine


class Ticking:
    """Each look at the clock costs a tenth of a millisecond, so that loops end."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 1e-4
        return self.now

    def unix(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


USUAL = [{"spin_per_us": 10.0, "sync_ms_median": 2.0}] * 5


def test_probes_disk_processor_and_pressure(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "proc/pressure").mkdir(parents=True)
    (root / "proc/stat").write_text("cpu  10 0 10 70 5 0 1 4 0 0\ncpu0 10 0 10 70 5 0 1 4 0 0\n")
    (root / "proc/pressure/io").write_text("some avg10=0.00 avg60=0.00 avg300=0.00 total=1234\n")
    found = probe_machine(tmp_path, Ticking(), root)
    assert found["syncs"] == 200
    assert float(str(found["sync_ms_median"])) > 0
    assert float(str(found["spin_per_us"])) > 0
    assert found["pressure_io_part"] == 0.0
    assert not (tmp_path / ".dyno-probe").exists()


def test_a_folder_that_cannot_be_written_is_a_reason_and_not_a_crash(tmp_path: Path) -> None:
    found = probe_machine(tmp_path / "missing", Ticking(), tmp_path)
    assert "No such file" in str(found["sync_unknown"])


def test_what_is_far_from_the_usual_is_odd() -> None:
    assert odd({"spin_per_us": 9.0, "sync_ms_median": 3.0, "steal_part": 0.01}, USUAL) == ""
    assert "usual speed" in odd({"spin_per_us": 6.0}, USUAL)
    assert "fdatasync" in odd({"sync_ms_median": 9.0}, USUAL)
    assert "hypervisor" in odd({"steal_part": 0.3}, [])


def test_without_a_history_nothing_is_odd() -> None:
    assert odd({"spin_per_us": 1.0, "sync_ms_median": 50.0}, USUAL[:2]) == ""


def test_a_quick_disk_is_never_odd() -> None:
    assert odd({"sync_ms_median": 0.9}, [{"sync_ms_median": 0.1}] * 5) == ""
