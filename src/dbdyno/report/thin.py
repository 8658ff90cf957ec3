"""Long series made short enough to draw: equal stretches of time, each with mean, least and greatest.

A peak of one second in ten hours must stay visible, so the envelope of each stretch is kept beside its mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dbdyno.model.record import Record

POINTS_MAX = 2000
Floats = NDArray[np.float64]


class Thinned(Record, frozen=True, kw_only=True):
    """`low` and `high` are empty when nothing had to be thinned."""

    t_s: list[float]
    mean: list[list[float | None]]
    low: list[list[float | None]] = []
    high: list[list[float | None]] = []


def thin(t_s: Floats, columns: Sequence[Floats], points_max: int = POINTS_MAX) -> Thinned:
    """Thins series on one time axis (seconds, ascending) to at most `points_max` points. Gaps (NaN) stay gaps."""
    if len(t_s) <= points_max:
        return Thinned(t_s=_clean_times(t_s), mean=[clean(column) for column in columns])
    edges = np.linspace(0, len(t_s), points_max + 1).astype(np.int64)[:-1]
    counts = np.diff(np.append(edges, len(t_s)))
    times = np.add.reduceat(t_s, edges) / counts
    mean: list[list[float | None]] = []
    low: list[list[float | None]] = []
    high: list[list[float | None]] = []
    for column in columns:
        known = np.isfinite(column)
        seen = np.add.reduceat(known.astype(np.float64), edges)
        total = np.add.reduceat(np.where(known, column, 0.0), edges)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean.append(clean(np.where(seen > 0, total / seen, np.nan)))
        low.append(clean(np.minimum.reduceat(np.where(known, column, np.inf), edges)))
        high.append(clean(np.maximum.reduceat(np.where(known, column, -np.inf), edges)))
    return Thinned(t_s=_clean_times(times), mean=mean, low=low, high=high)


def clean(values: Floats) -> list[float | None]:
    """Numbers of four significant digits, None for what is not a finite number: what a drawing needs, and small."""
    return [short(float(value)) for value in values]


def short(value: float) -> float | None:
    if not math.isfinite(value):
        return None
    rounded = float(f"{value:.4g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def _clean_times(t_s: Floats) -> list[float]:
    return [round(float(value), 2) for value in t_s]
