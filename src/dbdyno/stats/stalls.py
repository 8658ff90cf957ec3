"""Dips in a throughput: where they start, how deep they are, how long they last.

A value is low when it lies under its usual level by more than noise allows and by enough to matter; a dip is a run of
low values with what leads down to them and up again. All limits are shares of the level or multiples of the series' own
variation, so that they fit a server of ten transactions a second as well as one of a hundred thousand. Values that
count few transactions are put together first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dbdyno.stats.baseline import Floats, filled, usual_level, variation

_MATTERS = 0.3
"""A value is low only when it lacks this share of its level …"""
_SIGNIFICANT = 4.0
"""… and this many standard deviations."""
_STOPPED = 0.05
"""Less than this share of the level is low whatever the noise."""
_ALONE = 0.5
"""A single value is a dip when it lacks this share."""
_COUNTED_MIN = 20.0
"""Fewer transactions in a value than this are put together: chance alone makes them vary by a quarter."""
_TOGETHER_MAX = 30
_LOST_S_MIN = 0.5
"""A dip costs at least so many seconds of the usual level."""


@dataclass(frozen=True)
class Dip:
    """Times are edges: the first low value begins at `start_s`."""

    start_s: float
    end_s: float
    level: float
    lowest: float
    mean: float
    lost: float
    """What the level would have done more."""
    at_start: bool
    """It begins with the record: a warm-up, as far as anybody can tell."""
    at_end: bool
    """The record ends in it."""


def dips(t_s: Floats, values: Floats, *, step_s: float | None = None) -> list[Dip]:
    """Dips of a rate per second. `t_s` are the ends of the steps. NaN say nothing and are bridged."""
    there = np.isfinite(t_s)
    t_s, values = t_s[there], values[there]
    step = step_s or (float(np.median(np.diff(t_s))) if len(t_s) > 1 else 1.0)
    if len(t_s) < 2 * 5 or not np.isfinite(values).any() or step <= 0:
        return []
    times, series, step = _together(t_s, filled(values), step)
    if len(times) < 2 * 5:
        return []
    level = usual_level(series)
    noise = variation(series, level, step)
    missing = level - series
    low = (missing > np.maximum(_SIGNIFICANT * noise, _MATTERS * level)) & (level > 0)
    low |= (series < _STOPPED * level) & (level * step >= _COUNTED_MIN)
    lowish = (missing > np.maximum(_SIGNIFICANT / 2 * noise, _MATTERS / 2 * level)) & (level > 0)
    found = [_dip(times, series, level, step, run) for run in _runs(low, lowish | low)]
    return [one for one in found if _counts(one, step)]


def _together(t_s: Floats, values: Floats, step: float) -> tuple[Floats, Floats, float]:
    """Means of so many values that each counts enough transactions."""
    middle = float(np.median(values[values > 0])) if (values > 0).any() else 0.0
    if middle <= 0 or middle * step >= _COUNTED_MIN:
        return t_s, values, step
    by = int(min(_TOGETHER_MAX, np.ceil(_COUNTED_MIN / (middle * step))))
    count = len(values) // by
    means = values[: count * by].reshape(count, by).mean(axis=1)
    return t_s[: count * by].reshape(count, by)[:, -1], means, step * by


def _runs(low: np.ndarray, lowish: np.ndarray) -> list[tuple[int, int]]:
    """First and last index of the stretches of lowish values (a single better one between them does not end it) that
    hold a low one."""
    joined = lowish.copy()
    joined[1:-1] |= lowish[:-2] & lowish[2:]
    edges = np.flatnonzero(np.diff(np.concatenate([[0], joined.astype(np.int8), [0]])))
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return [(int(first), int(end) - 1) for first, end in pairs if low[first:end].any()]


def _dip(times: Floats, series: Floats, level: Floats, step: float, run: tuple[int, int]) -> Dip:
    first, last = run
    inside = slice(first, last + 1)
    usual = float(level[inside].max())
    return Dip(
        start_s=float(times[first] - step),
        end_s=float(times[last]),
        level=usual,
        lowest=float(series[inside].min()),
        mean=float(series[inside].mean()),
        lost=float((usual - series[inside]).sum() * step),
        at_start=first == 0,
        at_end=last == len(series) - 1,
    )


def _counts(dip: Dip, step: float) -> bool:
    alone = dip.end_s - dip.start_s < 1.5 * step
    if alone and dip.lowest > (1 - _ALONE) * dip.level:
        return False
    return dip.lost >= _LOST_S_MIN * dip.level
