"""The level that a series usually keeps, and how much it usually varies around it.

Neither may be moved by the stalls that are looked for. The level at a time is the lower of what was kept before and of
what was kept after it, each as the upper quartile of a window: a dip leaves it alone, a step up does not make what came
before it look low, and a step down does not make what follows look low (that is another level, see `phases`). The
variation is the median distance of neighbours (Rousseeuw and Croux, "Alternatives to the Median Absolute Deviation",
1993), which a few deep seconds do not move, and at least that of independent arrivals.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_QUARTILE = 0.75
_WINDOW_MIN, _WINDOW_MAX = 20, 600
_EDGE = 5
"""Fewer values on one side do not say what was kept there."""
_PLACES = 4000
"""Levels are computed at so many places at most; between them lies a straight line."""
_NORMAL = 1.4826
"""Median absolute deviation of the normal distribution to its standard deviation."""


def usual_level(values: Floats) -> Floats:
    """The level at each value of a series of equal steps without NaN."""
    count = len(values)
    if count < 2 * _EDGE:
        return np.full(count, float(np.quantile(values, _QUARTILE)) if count else 0.0)
    window = int(np.clip(count // 3, _WINDOW_MIN, _WINDOW_MAX))
    places = np.unique(np.append(np.arange(0, count, max(1, count // _PLACES)), count - 1))
    levels = [_level(values, int(place), window) for place in places]
    level: Floats = np.interp(np.arange(count), places, levels)
    return level


def variation(values: Floats, level: Floats, seconds: float) -> Floats:
    """Standard deviation of a value around its level; `seconds` is the step, for counts by the second."""
    relative = values[level > 0] / level[level > 0]
    share = _NORMAL * float(np.median(np.abs(np.diff(relative)))) / np.sqrt(2) if relative.size > 2 else 0.0
    found: Floats = np.maximum(level * share, np.sqrt(np.maximum(level, 0) / seconds))
    return found


def filled(values: Floats) -> Floats:
    """NaN are replaced by the straight line between their neighbours: they say neither high nor low."""
    good = np.isfinite(values)
    if not good.any():
        return values[:0]
    index = np.arange(len(values))
    line: Floats = np.interp(index, index[good], values[good])
    return line


def _level(values: Floats, place: int, window: int) -> float:
    before = values[max(0, place - window) : place + 1]
    after = values[place : place + window + 1]
    return min(_quartile(side) for side in (before, after) if len(side) > _EDGE)


def _quartile(values: Floats) -> float:
    """The upper quartile without interpolation: it is asked for thousands of times."""
    place = int(_QUARTILE * (len(values) - 1) + 0.5)
    return float(np.partition(values, place)[place])
