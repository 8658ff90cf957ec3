"""How fast a configuration writes its log, and how much of it may stand between two checkpoints."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from dbdyno.model.knob import Assignment, KnobSpace
from dbdyno.model.trial import Trial


def log_bytes_per_s(trials: Sequence[Trial], winner: Assignment) -> float:
    """Median over the trials of this assignment; 0 when none of them knows it."""
    own = [t for t in trials if t.assignment == winner and t.wal_bytes_per_transaction and t.tps]
    return statistics.median((t.wal_bytes_per_transaction or 0.0) * (t.tps or 0.0) for t in own) if own else 0.0


def log_bytes_max(winner: Assignment, space: KnobSpace, rate_per_s: float) -> float:
    """Most log between two checkpoints at a rate of log, bytes; 0 when nothing bounds it."""
    bounds: list[float] = []
    for knob in space.knobs:
        value = winner.get(knob.name, knob.default)
        if not isinstance(value, int | float) or value in knob.special:
            continue
        if knob.recovery_bytes_per_unit:
            bounds.append(value * knob.recovery_bytes_per_unit)
        if knob.recovery_s_per_unit and knob.unit == "s" and rate_per_s:
            bounds.append(value * rate_per_s)
    return min(bounds, default=0.0)
