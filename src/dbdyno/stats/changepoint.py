"""Where the level of a series changed: for histories of results and for drift of a machine, not for A against B.

Top down, each segment is split where the two sides differ most (the mean-based divergence of E-divisive: Matteson and
James, "A Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data", 2014); bottom up, change
points that Student's t does not confirm between their neighbours are taken away again, the weakest first (Fleming et
al., "Hunter: Using Change Point Detection to Hunt for Performance Regressions", 2023). Nothing is drawn at random.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]

_WEAK = 0.5
"""A split is followed further down when it is at least this significant; `significance` decides in the end."""


@dataclass(frozen=True)
class ChangePoint:
    index: int
    """First value of the new level."""
    before: float
    after: float
    """Means of the segments on both sides."""
    p_value: float
    """Corrected for the choice of the place."""

    @property
    def ratio(self) -> float:
        return self.after / self.before if self.before else math.nan


def change_points(
    values: Sequence[float] | Floats, *, significance: float = 0.02, change_min: float = 0.0, segment_min: int = 4
) -> list[ChangePoint]:
    """Changes of the mean, in order. `change_min` leaves out changes smaller than this share of the level before.

    The values should be independent: results of runs, or batch means of a series by the second. NaN are an error of the
    caller.
    """
    series = np.asarray(values, dtype=np.float64).ravel()
    assert np.isfinite(series).all()
    cuts = sorted(_split(series, 0, len(series), segment_min))
    while cuts:
        edges = [0, *cuts, len(series)]
        tests = [_test(series, *triple) for triple in zip(edges, edges[1:], edges[2:], strict=False)]
        weakest = max(tests, key=lambda test: test.p_value)
        small = [test for test in tests if abs(test.after - test.before) < change_min * abs(test.before)]
        if weakest.p_value > significance:
            cuts.remove(weakest.index)
        elif small:
            cuts.remove(min(small, key=lambda test: abs(test.after - test.before)).index)
        else:
            return tests
    return []


def segments(length: int, points: Sequence[ChangePoint]) -> list[tuple[int, int]]:
    """Begin and end of the stretches between change points."""
    return list(itertools.pairwise([0, *(point.index for point in points), length]))


def _split(series: Floats, begin: int, end: int, segment_min: int) -> list[int]:
    places = np.arange(begin + segment_min, end - segment_min + 1)
    if not len(places):
        return []
    sums = np.concatenate([[0.0], np.cumsum(series[begin:end])])
    left, right = (places - begin).astype(np.float64), (end - places).astype(np.float64)
    gap = sums[places - begin] / left - (sums[-1] - sums[places - begin]) / right
    at = int(places[int(np.argmax(left * right / (left + right) * gap**2))])
    if _test(series, begin, at, end).p_value > _WEAK:
        return []
    return [*_split(series, begin, at, segment_min), at, *_split(series, at, end, segment_min)]


def _test(series: Floats, begin: int, at: int, end: int) -> ChangePoint:
    before, after = series[begin:at], series[at:end]
    if np.ptp(before) == 0 and np.ptp(after) == 0:
        p = 1.0 if before[0] == after[0] else 0.0
    else:
        p = float(stats.ttest_ind(before, after, equal_var=False).pvalue)
    # The place was chosen as the best of all: Bonferroni pays for that choice.
    p = min(1.0, p * max(end - begin - 1, 1))
    return ChangePoint(at, float(before.mean()), float(after.mean()), p)
