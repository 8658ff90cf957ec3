"""Drift from repeated configurations."""

from __future__ import annotations

import math

import pytest

from dbdyno.model.trial import Trial, TrialKind, TrialStatus
from dbdyno.tune import drift as drifts


def trial(number: int, tps: float, name: str, kind: TrialKind = TrialKind.SEARCH, **changes: object) -> Trial:
    fields: dict[str, object] = {
        "number": number,
        "kind": kind,
        "assignment": {"a": name},
        "status": TrialStatus.KEPT,
        "tps_charged": tps,
        "started_unix_s": 1000.0 + 30.0 * number,
    }
    return Trial(**{**fields, **changes})  # type: ignore[arg-type]


def test_without_repeats_there_is_no_drift() -> None:
    drift = drifts.estimate([trial(1, 100, "x"), trial(2, 50, "y")])
    assert drift.at(1e9) == 0.0
    assert drift.span == 0.0


def test_a_steady_fall_is_followed_and_taken_out() -> None:
    def speed(number: int) -> float:
        return math.exp(-0.02 * number)

    trials = [trial(n, 100 * speed(n), "x", TrialKind.ANCHOR) for n in range(0, 30, 3)]
    other = trial(20, 80 * speed(20), "y")
    drift = drifts.estimate([*trials, other])
    assert drifts.corrected(other, drift) / drifts.corrected(trials[0], drift) == pytest.approx(0.8, rel=0.04)


def test_one_odd_anchor_is_not_taken_at_its_word() -> None:
    trials = [trial(n, 100, "x", TrialKind.ANCHOR) for n in range(0, 30, 5)]
    trials[3] = trial(15, 90, "x", TrialKind.ANCHOR)
    drift = drifts.estimate(trials)
    assert abs(drift.at(trials[3].started_unix_s)) < 0.7 * abs(math.log(0.9))
    assert abs(drift.at(trials[1].started_unix_s)) < 0.15 * abs(math.log(0.9))


def test_what_is_doubted_or_of_another_phase_does_not_count() -> None:
    trials = [
        trial(1, 100, "x"),
        trial(2, 10, "x", TrialKind.REPEAT, status=TrialStatus.DOUBTED),
        trial(3, 10, "x", TrialKind.CONFIRM),
    ]
    assert drifts.estimate(trials).span == 0.0
    assert drifts.repeat_sd(trials[:1], drifts.estimate(trials)) == (0.0, 0)
