"""What the driver saw, as series: throughput, response times and errors by interval, phase by phase.

Read lean: of an interval's event only the counts and two percentiles are kept, so that ten hours fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from dbdyno.model.plan import Plan
from dbdyno.model.recording import Floats

_STUMP = 0.5
"""An interval shorter than this share of the asked one is what was left at the end of a phase: it says nothing."""


class _Type(msgspec.Struct):
    count: int = 0
    errors: dict[str, int] = {}


class _Times(msgspec.Struct):
    p99_us: float = 0.0
    max_us: float = 0.0


class _Event(msgspec.Struct):
    event: str
    t_s: float = 0.0
    phase: str = ""
    seconds: float = 0.0
    transactions: dict[str, _Type] = {}
    response: _Times = msgspec.field(default_factory=_Times)


@dataclass
class Stretch:
    """One phase of load: arrays of one value an interval, times at their ends."""

    name: str
    measured: bool
    t_s: Floats = field(default_factory=lambda: np.empty(0))
    seconds: Floats = field(default_factory=lambda: np.empty(0))
    per_s: Floats = field(default_factory=lambda: np.empty(0))
    response_ms: Floats = field(default_factory=lambda: np.empty(0))
    """99th percentile."""
    errors_per_s: Floats = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True)
class DriverLoad:
    stretches: list[Stretch]
    unreadable: int
    clock: list[tuple[float, float]]
    """Wall clock and monotonic clock, read at once, in order."""


def read_load(path: Path, plan: Plan) -> DriverLoad:
    """From `events.jsonl`; lines of no use are counted."""
    rows: dict[str, list[tuple[float, ...]]] = {}
    bad = 0
    clock: list[tuple[float, float]] = []
    decoder = msgspec.json.Decoder(_Event)
    for line in _lines(path):
        if b'"interval"' not in line:
            if b'"clock"' in line:
                clock += _clock(line)
            continue
        try:
            event = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            bad += 1
            continue
        if event.event == "interval" and event.seconds > _STUMP * plan.interval_s:
            rows.setdefault(event.phase, []).append(_row(event))
    measured = {phase.name for phase in plan.phases if phase.measured}
    found = [_stretch(name, name in measured, sorted(values)) for name, values in rows.items()]
    return DriverLoad(sorted(found, key=lambda one: float(one.t_s[0])), bad, clock)


def _row(event: _Event) -> tuple[float, ...]:
    count = sum(one.count for one in event.transactions.values())
    errors = sum(sum(one.errors.values()) for one in event.transactions.values())
    response_ms = event.response.p99_us / 1e3 if count else float("nan")
    return event.t_s, event.seconds, count / event.seconds, response_ms, errors / event.seconds


def _stretch(name: str, measured: bool, rows: list[tuple[float, ...]]) -> Stretch:
    t_s, seconds, per_s, response_ms, errors = np.array(rows, dtype=np.float64).T
    return Stretch(name, measured, t_s, seconds, per_s, response_ms, errors)


def _clock(line: bytes) -> list[tuple[float, float]]:
    try:
        event: dict[str, Any] = msgspec.json.decode(line)
        return [(float(event["unix_s"]), float(event["monotonic_s"]))] if event.get("event") == "clock" else []
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError, AttributeError):
        return []


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            yield from file
    except FileNotFoundError:
        return
