"""From when on a run is steady, and whether it is so at all.

MSER-5 (White, Cobb and Spratt, "A Comparison of Five Steady-State Truncation Heuristics for Simulation", 2000): of all
starts, the one with the smallest standard error of the mean of what follows, over means of five values. It always
names a start; so what follows is judged as well: a trend or a step that is larger than noise allows and large enough to
matter makes the run not steady (Barrett et al., "Virtual Machine Warmup Blows Hot and Cold", 2017, found that many
never are).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from dbdyno.stats.bootstrap import Floats, batch_means

_BATCH = 5
_BATCHES_MIN = 6
"""Fewer cannot tell a trend from noise."""
_MATTERS = 0.05
"""A drift over the window smaller than this share of the mean is not worth a doubt."""
_SIGNIFICANT = 0.01


@dataclass(frozen=True)
class Steady:
    start_index: int
    """First value that belongs to the steady part."""
    steady: bool
    says: str


def steady_from(values: Sequence[float] | Floats) -> Steady:
    """Judges a series of equal steps, usually throughput by the second. Gaps (NaN) are filled with the value before
    them (at the beginning: after them)."""
    series = _filled(np.asarray(values, dtype=np.float64).ravel())
    if len(series) < _BATCH * _BATCHES_MIN:
        return Steady(0, False, f"{len(series)} values are too few to judge (at least {_BATCH * _BATCHES_MIN})")
    start = mser(series)
    rest = series[start:]
    means = batch_means(rest, _BATCH)
    trend = _trend(means)
    if trend:
        return Steady(start, False, trend)
    step = _step(means)
    if step:
        return Steady(start, False, step)
    return Steady(start, True, f"steady from value {start} of {len(series)}")


def mser(series: Floats, batch: int = _BATCH) -> int:
    """Index at which MSER truncates, a multiple of `batch`, within the first half.

    The published rule calls a minimum in the second half a failure; plain noise has one there in every fifth series,
    so that here the best of the first half counts, and what follows it is tested for trend and step.
    """
    count = len(series) // batch
    means = series[: count * batch].reshape(count, batch).mean(axis=1)
    centred = means - means.mean()
    # Sums from the end, so that every truncation costs one step.
    left = np.arange(count, 0, -1, dtype=np.float64)
    total = np.cumsum(centred[::-1])[::-1]
    squares = np.cumsum((centred**2)[::-1])[::-1]
    figure = np.maximum(squares / left - (total / left) ** 2, 0.0) / left
    # A constant series has no spread anywhere: then the first start is as good as any.
    return int(np.argmin(np.round(figure[: count // 2 + 1], 12))) * batch


def _trend(means: Floats) -> str:
    """A straight slope through the batch means."""
    if len(means) < _BATCHES_MIN // 2 + 1 or not float(np.ptp(means)):
        return ""
    fit = stats.linregress(np.arange(len(means)), means)
    drift = float(fit.slope) * (len(means) - 1) / max(abs(float(means.mean())), 1e-300)
    if float(fit.pvalue) < _SIGNIFICANT and abs(drift) > _MATTERS:
        return f"{'rises' if drift > 0 else 'falls'} by {abs(drift):.0%} over the window"
    return ""


def _step(means: Floats) -> str:
    """The best single change point, tested against the choice among all places (Bonferroni)."""
    places = range(3, len(means) - 2)
    worst_p, worst_shift = 1.0, 0.0
    for at in places:
        before, after = means[:at], means[at:]
        if not float(np.ptp(before)) and not float(np.ptp(after)):
            p = 0.0 if before[0] != after[0] else 1.0
        else:
            p = float(stats.ttest_ind(before, after, equal_var=False).pvalue)
        if p < worst_p:
            worst_p, worst_shift = p, float(after.mean() - before.mean())
    share = worst_shift / max(abs(float(means.mean())), 1e-300)
    if worst_p * max(len(places), 1) < _SIGNIFICANT and abs(share) > _MATTERS:
        return f"steps {'up' if share > 0 else 'down'} by {abs(share):.0%} within the window"
    return ""


def _filled(series: Floats) -> Floats:
    good = np.isfinite(series)
    if not good.any():
        return series[:0]
    index = np.maximum.accumulate(np.where(good, np.arange(len(series)), int(np.argmax(good))))
    filled: Floats = series[np.maximum(index, int(np.argmax(good)))]
    return filled
