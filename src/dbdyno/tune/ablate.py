"""What each knob contributes: the confirmed winner over the winner without it (leave-one-out).

The winner itself is run first, after every third knob and at the end; a knob's ratio is taken to the mean of the
neighbouring winners, so a slow drift cancels. With one run for a knob the interval comes from the noise of all runs of
equal configurations in the study (pooled, with their degrees of freedom), not from the knob alone. Contributions do not
add up when knobs work together: leaving out one of two that do the same shows nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

from dbdyno.model.knob import Assignment, Knob, KnobSpace, Value
from dbdyno.model.trial import Trial, TrialKind, TrialStatus
from dbdyno.tune import drift as drifts
from dbdyno.tune.confirm import WINNER
from dbdyno.tune.rounds import next_slot, slots
from dbdyno.tune.trial import Step

KNOBS_BETWEEN_WINNERS = 3
CHANCE_MAX = 0.01
"""About a dozen knobs are looked at: with this limit one of them in eight studies is put first by chance."""
_SD_UNKNOWN = 0.05
"""Assumed noise of log throughput when nothing was repeated."""


def changed(assignment: Assignment, space: KnobSpace) -> list[str]:
    """Names of the settings that are not at the server's default."""
    return [name for name, value in assignment.items() if _differs(space.knob(name), value)]


def _differs(knob: Knob | None, value: Value) -> bool:
    if knob is None:
        return True
    if isinstance(value, int | float) and isinstance(knob.default, int | float):
        return not math.isclose(value, knob.default, rel_tol=1e-9)
    return str(value) != str(knob.default)


def order_of(trials: Sequence[Trial], winner: Assignment, space: KnobSpace, runs_max: int) -> list[str]:
    """Names of the runs: the winner and, in between, the knob that is left out; the weightiest knobs come first."""
    curated = [knob.name for knob in space.knobs]
    place = {name: index for index, name in enumerate(curated)}
    names = sorted(
        changed(winner, space),
        key=lambda name: (-weight(trials, name, space.knob(name)), place.get(name, len(place)), name),
    )
    order: list[str] = []
    for index, name in enumerate(names):
        # The closing winner needs room too.
        if len(order) + (3 if index % KNOBS_BETWEEN_WINNERS == 0 else 2) > runs_max:
            break
        if index % KNOBS_BETWEEN_WINNERS == 0:
            order.append(WINNER)
        order.append(name)
    return [*order, WINNER] if order else []


def weight(trials: Sequence[Trial], name: str, knob: Knob | None) -> float:
    """How closely a knob's value goes with throughput over the search (absolute rank correlation); a rough order.

    0 where the correlation may be chance, as it mostly is after a short search: then the curated order decides, which
    names the usually weightiest knobs first.
    """
    drift = drifts.estimate(trials)
    points: list[tuple[Value, float]] = []
    for trial in trials:
        if drifts.believed(trial):
            value = trial.assignment.get(name, knob.default if knob else 0)
            points.append((value, drifts.corrected(trial, drift)))
    words = sorted({str(value) for value, _score in points})
    numbers = [float(v) if isinstance(v, int | float) else float(words.index(str(v))) for v, _score in points]
    scores = [score for _value, score in points]
    if len(set(numbers)) < 2 or len(set(scores)) < 2:
        return 0.0
    found = stats.spearmanr(numbers, scores)
    return abs(float(found.statistic)) if found.pvalue < CHANCE_MAX else 0.0


def ablation_step(trials: Sequence[Trial], winner: Assignment, space: KnobSpace, runs_max: int) -> Step | None:
    """The next run; None when all are made or none is to be made."""
    order = order_of(_before(trials), winner, space, runs_max)
    name = next_slot(trials, order, TrialKind.ABLATION) if order else None
    if name is None:
        return None
    return Step(TrialKind.ABLATION, name, {key: value for key, value in winner.items() if key != name})


def _before(trials: Sequence[Trial]) -> list[Trial]:
    """The order must not change while it is followed."""
    return [trial for trial in trials if trial.kind is not TrialKind.ABLATION]


def contributions(
    trials: Sequence[Trial], winner: Assignment, space: KnobSpace, runs_max: int, confidence: float = 0.95
) -> dict[str, dict[str, float]]:
    """By knob: ratio of charged throughput with it over without it, with its interval; only those measured."""
    if not any(trial.kind is TrialKind.ABLATION for trial in trials):
        return {}
    order = order_of(_before(trials), winner, space, runs_max)
    filled = slots(trials, TrialKind.ABLATION)[: len(order)]
    logs = [
        math.log(trial.tps_charged) if trial.tps_charged and trial.status is TrialStatus.KEPT else None
        for trial in filled
    ]
    winners = [(i, log) for i, (trial, log) in enumerate(zip(filled, logs, strict=True)) if _is(trial, WINNER) and log]
    sd, degrees = pooled_sd(trials)
    found: dict[str, dict[str, float]] = {}
    for index, (trial, log) in enumerate(zip(filled, logs, strict=True)):
        near = [value for at, value in winners if abs(at - index) <= KNOBS_BETWEEN_WINNERS]
        if _is(trial, WINNER) or log is None or not near:
            continue
        difference = float(np.mean(near)) - log
        reach = float(stats.t.ppf((1 + confidence) / 2, max(degrees, 1))) * sd * math.sqrt(1 + 1 / len(near))
        found[trial.name] = {
            "ratio": math.exp(difference),
            "low": math.exp(difference - reach),
            "high": math.exp(difference + reach),
        }
    return found


def _is(trial: Trial, name: str) -> bool:
    return trial.name == name


def pooled_sd(trials: Sequence[Trial]) -> tuple[float, int]:
    """Noise of a run's log throughput from all repeated configurations of confirmation and ablation, else search."""
    late = [trial for trial in trials if trial.kind in (TrialKind.CONFIRM, TrialKind.ABLATION)]
    none = drifts.Drift(np.empty(0), np.empty(0))
    sd, degrees = drifts.repeat_sd(late, none)
    if degrees < 2:
        searched = [trial for trial in trials if trial.kind in drifts.SEARCHED]
        sd, degrees = drifts.repeat_sd(searched, drifts.estimate(trials))
    return (sd, degrees) if degrees >= 2 else (_SD_UNKNOWN, 10)


def remark(name: str, found: dict[str, dict[str, float]]) -> str:
    """What is said of a knob beside its value."""
    if name not in found:
        return "contribution not measured"
    one = found[name]
    figures = f"x{one['ratio']:.2f} ({one['low']:.2f}-{one['high']:.2f})"
    if one["low"] <= 1.0 <= one["high"]:
        return f"no effect shown: {figures}"
    return f"contributes {figures}"
