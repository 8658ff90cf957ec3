"""What a study knows so far, as rows and values for a surrogate model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import optuna
from numpy.typing import NDArray
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from dbdyno.tune.samplers.cube import Cube, Rows
from dbdyno.tune.space import assignment_of

FAILED = "failed"
"""User attribute of a trial that was told with a value although it failed."""
SCORE_SD = "score_sd"
"""User attribute: standard deviation of the trial's score, in the score's unit, as far as the trial itself knows it.
What differs from run to run is inferred and comes on top."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class History:
    rows: Rows
    """Distinct assignments that were scored."""
    values: Floats
    """Standardised; larger is better."""
    known: Floats
    """Variance that was measured, in the same unit squared."""
    repeats: Floats
    failed: Rows
    pending: Rows
    scale: float
    """Standard deviation of the values before they were standardised (of logarithms, if `log`)."""
    log: bool

    @property
    def count(self) -> int:
        """Distinct assignments that are known, scored or failed, or on their way."""
        return len(self.rows) + len(self.failed) + len(self.pending)


def read(study: optuna.Study, cube: Cube, *, without: int) -> History:
    """Scores of completed trials, equal assignments merged; failures; trials that still run but for `without`.

    Scores that are all positive are taken as logarithms, since what matters in throughput is ratios.
    """
    scored: list[FrozenTrial] = []
    failed: list[FrozenTrial] = []
    pending: list[FrozenTrial] = []
    for trial in study.get_trials(deepcopy=False, states=None):
        if trial.number == without or not trial.params:
            continue
        if trial.state is TrialState.RUNNING:
            pending.append(trial)
        elif trial.state is TrialState.FAIL or trial.user_attrs.get(FAILED):
            failed.append(trial)
        elif trial.state is TrialState.COMPLETE and trial.value is not None and math.isfinite(trial.value):
            scored.append(trial)
    rows = _rows(scored, cube)
    raw = np.array([trial.value for trial in scored], dtype=np.float64)
    spread = np.array([float(trial.user_attrs.get(SCORE_SD) or 0.0) for trial in scored])
    log = bool(len(raw)) and bool(raw.min() > 0)
    values, spread = (np.log(raw), spread / raw) if log else (raw, spread)
    if study.direction == StudyDirection.MINIMIZE:
        values = -values
    rows, values, known, repeats = _merged(rows, values, spread**2)
    values = _compressed(values)
    centre, scale = (float(values.mean()), float(values.std())) if len(values) else (0.0, 1.0)
    scale = scale if scale > 1e-9 else 1.0
    return History(
        rows=rows,
        values=(values - centre) / scale,
        known=known / scale**2,
        repeats=repeats,
        failed=_rows(failed, cube),
        pending=_rows(pending, cube),
        scale=scale,
        log=log,
    )


def _rows(trials: Sequence[FrozenTrial], cube: Cube) -> Rows:
    return cube.encode([assignment_of(trial.params, cube.knobs) for trial in trials])


def _merged(rows: Rows, values: Floats, variance: Floats) -> tuple[Rows, Floats, Floats, Floats]:
    """Equal rows become one: mean value, variance of that mean, number of repeats."""
    if not len(rows):
        return rows, values, variance, values
    places: dict[bytes, list[int]] = {}
    for at, row in enumerate(np.round(rows, 12)):
        places.setdefault(row.tobytes(), []).append(at)
    groups = list(places.values())
    return (
        rows[[group[0] for group in groups]],
        np.array([values[group].mean() for group in groups]),
        np.array([variance[group].sum() / len(group) ** 2 for group in groups]),
        np.array([float(len(group)) for group in groups]),
    )


def _compressed(values: Floats) -> Floats:
    """Pulls in disasters, in order: how bad a very bad assignment is says nothing about where the best is, but it would
    set the scale for all others."""
    if len(values) < 3:
        return values
    middle = float(np.median(values))
    floor = middle - 3 * max(float(values.max()) - middle, 1e-6)
    compressed: Floats = np.where(values < floor, floor + 0.1 * (values - floor), values)
    return compressed
