"""A slow spell of the disk is told from a configuration that asks more of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from simulated import SimClock, SimServer, plan_of, study_of

from dbdyno.model.run import Doubt
from dbdyno.model.trial import TrialKind, TrialStatus
from dbdyno.tune.disk_moment import disk_of, slow

USUAL = {"writes_per_s": 2400.0, "bytes": 6600, "ms": 0.25}


@pytest.mark.parametrize(
    ("seen", "doubted"),
    [
        ({"writes_per_s": 1172.0, "bytes": 7335, "ms": 0.75}, True),
        (USUAL, False),
        # At the limit of its volume: as many writes as ever, which wait for their turn.
        ({"writes_per_s": 2763.0, "bytes": 6600, "ms": 0.76}, False),
        # Pages and their neighbours in one write.
        ({"writes_per_s": 1500.0, "bytes": 25_000, "ms": 0.62}, False),
        # Fewer commits, each as quick as ever.
        ({"writes_per_s": 1100.0, "bytes": 6600, "ms": 0.26}, False),
        ({}, False),
    ],
)
def test_which_runs_met_a_slow_disk(seen: dict[str, float], doubted: bool) -> None:
    assert bool(slow(seen, [USUAL] * 3)) is doubted


def test_too_few_others_say_nothing() -> None:
    seen = {"writes_per_s": 800.0, "bytes": 6600, "ms": 2.0}
    assert slow(seen, [USUAL, USUAL, {}]) == ""
    assert "8.0 times the usual" in slow(seen, [USUAL, USUAL, USUAL])


def test_the_figures_of_a_run() -> None:
    server = {"disk_writes": 20_000.0, "disk_write_bytes": 2e8, "disk_write_ms": 5000.0}
    assert disk_of(server, 10.0) == {"writes_per_s": 2000.0, "bytes": 10_000, "ms": 0.25}
    assert disk_of({"disk_writes": 20_000.0}, 10.0) == {}
    assert disk_of({}, 10.0) == {}


def test_such_a_trial_is_measured_once_more_and_then_taken_as_it_is(tmp_path: Path) -> None:
    def disk(number: int) -> dict[str, float]:
        bad = number in (5, 6)
        return {"disk_writes": 8e3 if bad else 4e4, "disk_write_bytes": 8e7 if bad else 4e8, "disk_write_ms": 1e4}

    server = SimServer(SimClock(), disk_of=disk)
    study = study_of(tmp_path / "s", server, plan_of(trials_max=6))
    study.run()
    fifth, sixth = study.trials[4], study.trials[5]
    assert fifth.status is TrialStatus.DOUBTED
    assert next(note.says for note in fifth.doubts if note.doubt is Doubt.NOISY_NEIGHBOUR).startswith("a write took")
    assert (sixth.kind, sixth.assignment) == (TrialKind.REPEAT, fifth.assignment)
    assert sixth.status in (TrialStatus.KEPT, TrialStatus.REJECTED)
    assert sum(trial.status is TrialStatus.DOUBTED for trial in study.trials) == 1
