"""The winner's long run, and the limit of the response time in the search, on a simulated server."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from simulated import SPACE, SimClock, SimServer, plan_of, study_of

from dbdyno.model.contract import Contract
from dbdyno.model.finding import Verdict
from dbdyno.model.trial import Trial, TrialKind, TrialStatus
from dbdyno.tune.validate import cycle_s, validation, validation_step

WINNER = {"cache": 400, "log_size": 10_000}


def confirmed(**more: Any) -> Trial:
    """A short run of the winner that writes 100 bytes of log a second."""
    given = {"tps": 10.0, "tps_charged": 9.0, "wal_bytes_per_transaction": 10.0, **more}
    return Trial(number=1, kind=TrialKind.CONFIRM, name="winner", assignment=WINNER, status=TrialStatus.KEPT, **given)


def long_run(**more: Any) -> Trial:
    given = {"tps": 10.0, "tps_charged": 9.0, "wal_bytes_per_transaction": 10.0, "measured_s": 220.0, **more}
    return Trial(
        number=2, kind=TrialKind.VALIDATION, name="winner", assignment=WINNER, status=TrialStatus.KEPT, **given
    )


def test_a_cycle_is_the_log_that_may_stand_over_the_rate_at_which_it_is_written() -> None:
    assert cycle_s([confirmed()], WINNER, SPACE) == pytest.approx(10_000 / 100)


def test_the_long_run_holds_two_cycles_or_what_the_limit_allows() -> None:
    step = validation_step([confirmed()], WINNER, SPACE, plan_of(validate_s=1000.0), "winner")
    assert step is not None
    assert step.kind is TrialKind.VALIDATION
    assert step.measure_s == pytest.approx(220, abs=1)
    short = validation_step([confirmed()], WINNER, SPACE, plan_of(validate_s=60.0), "winner")
    assert short is not None
    assert short.measure_s == 60


@pytest.mark.parametrize(
    ("trials", "winner", "limit_s"),
    [
        ([confirmed()], WINNER, 0.0),
        ([confirmed()], {}, 600.0),
        ([confirmed(wal_bytes_per_transaction=None)], WINNER, 600.0),
        ([confirmed(wal_bytes_per_transaction=1e-6)], WINNER, 600.0),
        ([confirmed(), long_run()], WINNER, 600.0),
    ],
    ids=["not wanted", "the default won", "no figure of the log", "hardly any log", "made already"],
)
def test_there_is_no_long_run_without_a_reason(trials: list[Trial], winner: Mapping[str, Any], limit_s: float) -> None:
    assert validation_step(trials, dict(winner), SPACE, plan_of(validate_s=limit_s), "winner") is None


@pytest.mark.parametrize(
    ("run", "verdict", "word"),
    [
        (long_run(), Verdict.PASS, "1.00 of its short runs"),
        (long_run(measured_s=100.0), Verdict.UNKNOWN, "2 were wanted"),
        (long_run(tps_charged=8.0), Verdict.FAIL, "does not last"),
    ],
)
def test_the_long_run_is_held_against_the_short_ones(run: Trial, verdict: Verdict, word: str) -> None:
    found = validation([confirmed(), run], WINNER, SPACE, limit_s=600.0, noise=0.01)
    assert found["verdict"] == verdict
    assert word in str(found["says"])


def test_a_noisy_machine_is_given_its_noise() -> None:
    found = validation([confirmed(), long_run(tps_charged=8.0)], WINNER, SPACE, limit_s=600.0, noise=0.1)
    assert found["verdict"] == Verdict.PASS


def test_a_long_run_that_failed_is_no_pass() -> None:
    broken = Trial(
        number=2,
        kind=TrialKind.VALIDATION,
        name="winner",
        assignment=WINNER,
        status=TrialStatus.FAILED,
        error="No space left on device",
    )
    found = validation([confirmed(), broken], WINNER, SPACE, limit_s=600.0, noise=0.0)
    assert found["verdict"] == Verdict.FAIL
    assert "No space" in str(found["says"])


def test_a_study_validates_its_winner_once(tmp_path: Path) -> None:
    study = study_of(tmp_path / "s", SimServer(SimClock()), plan_of(trials_max=5, confirm_pairs=2, validate_s=30.0))
    outcome = study.run()
    long = [trial for trial in study.trials if trial.kind is TrialKind.VALIDATION]
    assert len(long) == 1
    assert long[0].assignment == outcome.winner
    assert 0 < long[0].measured_s <= 30.0
    assert outcome.validation["seconds"] == long[0].measured_s


def test_a_gain_that_does_not_last_is_found(tmp_path: Path) -> None:
    class Tiring(SimServer):
        """Its throughput is half in the long run."""

        def measure(self, plan: Any, folder: Path, stop: Any = None) -> Any:
            long = plan.labels["kind"] == TrialKind.VALIDATION
            before, self.drift = self.drift, (lambda _s: math.log(0.5)) if long else self.drift
            try:
                return super().measure(plan, folder, stop)
            finally:
                self.drift = before

    study = study_of(tmp_path / "s", Tiring(SimClock()), plan_of(trials_max=5, confirm_pairs=2, validate_s=90.0))
    outcome = study.run()
    assert outcome.validation["verdict"] == Verdict.FAIL


def test_the_search_keeps_the_limit_of_the_response_time(tmp_path: Path) -> None:
    """A large cache is faster and breaks the limit here: it must not win, and what broke it says so."""

    class Spiky(SimServer):
        def measure(self, plan: Any, folder: Path, stop: Any = None) -> Any:
            outcome = super().measure(plan, folder, stop)
            slow_us = 90_000.0 if float(self.now.get("cache", 10)) > 100 else 1_000.0
            phases = [
                one if one.phase != "rate" else type(one)(**{**fields(one), "response": latency(one.response, slow_us)})
                for one in outcome.phases
            ]
            return type(outcome)(**{**fields(outcome), "phases": tuple(phases)})

    plan = plan_of(trials_max=14, confirm_pairs=1, rate_s=3.0, contract=Contract(p99_ms_max=20.0))
    study = study_of(tmp_path / "s", Spiky(SimClock()), plan)
    outcome = study.run()
    broke = [trial for trial in study.trials if "99th percentile" in trial.says]
    assert broke
    assert all(trial.status is TrialStatus.REJECTED and trial.score < trial.tps_charged for trial in broke)  # type: ignore[operator]
    assert float(outcome.winner.get("cache", 10)) <= 100  # type: ignore[arg-type]


def fields(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__struct_fields__}


def latency(found: Any, p99_us: float) -> Any:
    return type(found)(**{**fields(found), "p99_us": p99_us})
