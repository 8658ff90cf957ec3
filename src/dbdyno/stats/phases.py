"""The levels that a run went through: warming up, steady, degraded.

Change points of batch medians (dips within a batch do not move them) cut the run; a stretch that is well below what was
kept before it is degraded, what comes before the first full level is the warm-up.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np

from dbdyno.stats.baseline import Floats, filled
from dbdyno.stats.changepoint import change_points, segments

_BATCHES_MAX = 240
_BATCH_MIN = 5
_FULL = 0.85
"""Share of the best level from which on a run counts as warm."""
_DEGRADED = 0.75
"""Below this share of what was kept before it, a stretch is degraded."""
_CHANGE_MIN = 0.1


class PhaseKind(enum.StrEnum):
    WARM_UP = "warm-up"
    STEADY = "steady"
    DEGRADED = "degraded"


@dataclass(frozen=True)
class Phase:
    kind: PhaseKind
    start_s: float
    end_s: float
    level: float
    """Median rate."""
    before: float
    """Best level kept before it; its own for the first."""


def phases(t_s: Floats, values: Floats) -> list[Phase]:
    """In order of time; none for a series too short to tell. `t_s` are the ends of equal steps."""
    there = np.isfinite(t_s) & np.isfinite(values)
    if np.count_nonzero(there) < 4 * _BATCH_MIN:
        return []
    times, series = t_s[np.isfinite(t_s)], filled(values[np.isfinite(t_s)])
    step = float(np.median(np.diff(times)))
    batch = max(_BATCH_MIN, -(-len(series) // _BATCHES_MAX))
    count = len(series) // batch
    medians = np.median(series[: count * batch].reshape(count, batch), axis=1)
    cuts = segments(count, change_points(medians, change_min=_CHANGE_MIN, segment_min=3))
    levels = [float(np.median(medians[begin:end])) for begin, end in cuts]
    top = max(levels)
    found: list[Phase] = []
    warm = False
    best = 0.0
    for (begin, end), level in zip(cuts, levels, strict=True):
        warm = warm or level >= _FULL * top or level < best
        kind = PhaseKind.STEADY if warm else PhaseKind.WARM_UP
        if warm and level < _DEGRADED * best:
            kind = PhaseKind.DEGRADED
        last = len(series) if end == count else end * batch
        start_s = float(times[begin * batch] - step)
        end_s = float(times[last - 1])
        found.append(Phase(kind, start_s, end_s, level, best or level))
        best = max(best, level)
    return _joined(found)


def _joined(found: list[Phase]) -> list[Phase]:
    """Neighbours of one kind are one phase; its level is that of the longer."""
    joined: list[Phase] = []
    for one in found:
        last = joined[-1] if joined else None
        if last is None or last.kind != one.kind:
            joined.append(one)
            continue
        longer = max((last, one), key=lambda part: part.end_s - part.start_s)
        joined[-1] = Phase(one.kind, last.start_s, one.end_s, longer.level, last.before)
    return joined
