"""The machine's drift over a study, from configurations that were measured more than once.

Neighbours, thermal limits and aging data change a machine's speed in the course of an hour. The incumbent is measured
again about every fifth trial; here the log throughput of repeated configurations is split into a level for each
configuration and a drift common to all, piecewise linear between the repeated measurements. Noise must not pass for
drift, so steps of the drift are held small: they are drawn towards zero as far as the noise explains them.

Method: least squares with a random-walk prior, as in drift correction by standards in analytical chemistry; the
idea of re-running the incumbent is that of TUNA (2025).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdyno.model.record import to_json
from dbdyno.model.trial import Trial, TrialKind, TrialStatus

NOISE = 0.03
"""Assumed standard deviation of one trial's log throughput."""
STEP = 0.05
"""Assumed standard deviation of the drift between two neighbouring knots, in log throughput."""

SEARCHED = frozenset({TrialKind.BASELINE, TrialKind.SEARCH, TrialKind.ANCHOR, TrialKind.REPEAT})


@dataclass(frozen=True)
class Drift:
    """Log speed of the machine relative to its first repeated measurement, by unix time."""

    at_s: NDArray[np.float64]
    log: NDArray[np.float64]

    def at(self, unix_s: float) -> float:
        """Linear between the knots, constant outside them."""
        return float(np.interp(unix_s, self.at_s, self.log)) if len(self.at_s) else 0.0

    @property
    def span(self) -> float:
        """Largest over smallest speed, as a ratio minus one."""
        return math.expm1(float(np.ptp(self.log))) if len(self.log) else 0.0


def same_key(trial: Trial) -> str:
    """Equal for equal assignments."""
    return to_json(trial.assignment).decode()


def believed(trial: Trial) -> bool:
    """Whether a trial of the search phase counts: measured, not doubted, not cut short."""
    return trial.kind in SEARCHED and trial.status is TrialStatus.KEPT and bool(trial.tps_charged)


def estimate(trials: Sequence[Trial]) -> Drift:
    """The drift that repeated configurations show; zero when nothing was repeated."""
    groups: dict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        if believed(trial):
            groups[same_key(trial)].append(trial)
    repeated = {key: group for key, group in groups.items() if len(group) > 1}
    points = [(trial.started_unix_s, key, trial) for key, group in repeated.items() for trial in group]
    points.sort(key=lambda point: (point[0], point[2].number))
    if not points:
        return Drift(np.empty(0), np.empty(0))
    keys = {key: index for index, key in enumerate(repeated)}
    knots = len(points)
    rows: list[NDArray[np.float64]] = []
    wanted: list[float] = []
    for index, (_at, key, trial) in enumerate(points):
        row = np.zeros(knots + len(keys))
        row[index] = row[knots + keys[key]] = 1 / NOISE
        rows.append(row)
        wanted.append(math.log(trial.tps_charged or 1.0) / NOISE)
    for index in range(1, knots):
        row = np.zeros(knots + len(keys))
        row[index], row[index - 1] = 1 / STEP, -1 / STEP
        rows.append(row)
        wanted.append(0.0)
    # The first knot is the reference.
    pinned = np.zeros(knots + len(keys))
    pinned[0] = 1e6
    rows.append(pinned)
    wanted.append(0.0)
    solution = np.linalg.lstsq(np.array(rows), np.array(wanted), rcond=None)[0]
    at_s = np.array([at for at, _key, _trial in points])
    return Drift(at_s, solution[:knots])


def corrected(trial: Trial, drift: Drift) -> float:
    """Charged throughput as it would have been on the machine of the reference; 0 when it has none."""
    return (trial.tps_charged or 0.0) * math.exp(-drift.at(trial.started_unix_s))


def repeat_sd(trials: Sequence[Trial], drift: Drift) -> tuple[float, int]:
    """Pooled standard deviation of log throughput within repeated configurations after correction, and its degrees
    of freedom; (0, 0) when nothing was repeated."""
    groups: dict[str, list[float]] = defaultdict(list)
    for trial in trials:
        if trial.status is TrialStatus.KEPT and trial.tps_charged:
            groups[same_key(trial)].append(math.log(corrected(trial, drift)))
    squares, degrees = 0.0, 0
    for logs in groups.values():
        if len(logs) > 1:
            squares += float(np.sum((np.array(logs) - np.mean(logs)) ** 2))
            degrees += len(logs) - 1
    return (math.sqrt(squares / degrees), degrees) if degrees else (0.0, 0)
