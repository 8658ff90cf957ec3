"""Whether the disk was slow while a trial ran, for no reason of the trial's.

A disk that others use too has slow spells of seconds to minutes, which a look at the machine before the trial misses.
The trial's own record shows them: each write took much longer than in the study's other trials, although there were
fewer of them and they were no larger. A configuration that asks more of the disk, or asks for larger writes, makes
writes slower as well; that is its own doing, and no doubt.

The trial is then doubted, and measured once more, whichever configuration it was; a second slow spell is accepted.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from dbdyno.model.fact import Scalar

TIMES = 1.8
"""A write takes so many times the usual. Between undisturbed trials it varied by half on a small volume."""
FEWER = 0.85
"""Part of the usual writes a second."""
LARGER = 1.5
"""Times the usual bytes of a write: larger ones may take longer."""
_KNOWN_MIN = 3


def disk_of(server: Mapping[str, Scalar], seconds: float) -> dict[str, Scalar]:
    """`writes_per_s`, and of a write the mean `bytes` and `ms`, from a run's differences; empty when not known."""
    writes, size_bytes, spent_ms = (_number(server, f"disk_{name}") for name in ("writes", "write_bytes", "write_ms"))
    if not writes or size_bytes is None or spent_ms is None or seconds <= 0:
        return {}
    return {
        "writes_per_s": round(writes / seconds, 1),
        "bytes": round(size_bytes / writes),
        "ms": round(spent_ms / writes, 4),
    }


def slow(disk: Mapping[str, Scalar], earlier: Sequence[Mapping[str, Scalar]]) -> str:
    """Why this run met a slow disk; empty when it did not, or when there are too few others to say."""
    seen = {name: _number(disk, name) for name in ("ms", "writes_per_s", "bytes")}
    others = [one for one in earlier if all(_number(one, name) for name in seen)]
    if len(others) < _KNOWN_MIN or not all(seen.values()):
        return ""
    part = {name: (value or 0.0) / statistics.median(_number(one, name) or 0.0 for one in others)
            for name, value in seen.items()}  # fmt: skip
    if part["ms"] < TIMES or part["writes_per_s"] > FEWER or part["bytes"] > LARGER:
        return ""
    return (
        f"a write took {seen['ms']:.2f} ms, {part['ms']:.1f} times the usual, "
        f"at {part['writes_per_s']:.0%} of the usual writes a second"
    )


def _number(figures: Mapping[str, Scalar], name: str) -> float | None:
    value = figures.get(name)
    return float(value) if isinstance(value, int | float) else None
