"""Run folders as arrays: what the views, the text and the comparison share."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dbdyno.model.plan import LoopMode, Plan
from dbdyno.model.run import DoubtNote, Latency, Outcome, PhaseOutcome
from dbdyno.report.thin import Floats
from dbdyno.run.record import RunRecord
from dbdyno.stats import histogram


@dataclass(frozen=True)
class Stretch:
    """A phase on the time axis, seconds."""

    name: str
    start_s: float
    end_s: float
    measured: bool


@dataclass(frozen=True)
class Load:
    """What the driver saw, one value an interval; times in milliseconds. NaN where an interval had no transaction."""

    t_s: Floats
    seconds: Floats
    tps: Floats
    errors: Floats
    retries: Floats
    response_ms: dict[str, Floats]
    service_ms: dict[str, Floats]
    phase: list[str]
    stretches: list[Stretch] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        return len(self.t_s) == 0


PERCENTILES = ("p50_us", "p95_us", "p99_us", "p999_us")


def load_of(record: RunRecord) -> Load:
    """The intervals of all phases in order. A folder without any gives an empty load."""
    intervals = sorted(record.intervals(), key=lambda one: _number(one.get("t_s")))
    t_s = np.array([_number(one.get("t_s")) for one in intervals], dtype=np.float64)
    seconds = np.array([max(1e-9, _number(one.get("seconds"), 1.0)) for one in intervals], dtype=np.float64)
    counts = np.array([counted(one) for one in intervals], dtype=np.float64)
    response = {name: _times(intervals, "response", name) for name in PERCENTILES}
    service = {name: _times(intervals, "service", name) for name in PERCENTILES}
    phases = [str(one.get("phase", "")) for one in intervals]
    return Load(
        t_s=t_s,
        seconds=seconds,
        tps=counts / seconds,
        errors=np.array([failed(one) for one in intervals], dtype=np.float64) / seconds,
        retries=np.array([_each(one, "retries") for one in intervals], dtype=np.float64) / seconds,
        response_ms=response,
        service_ms=service,
        phase=phases,
        stretches=_stretches(t_s, seconds, phases, measured_phases(record.plan)),
    )


def _number(value: Any, otherwise: float = 0.0) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else otherwise


def _types(event: dict[str, Any]) -> list[dict[str, Any]]:
    types = event.get("transactions")
    return [one for one in types.values() if isinstance(one, dict)] if isinstance(types, dict) else []


def _each(event: dict[str, Any], name: str) -> float:
    return sum(_number(one.get(name)) for one in _types(event))


def counted(event: dict[str, Any]) -> float:
    """Successful transactions of all types in an interval or summary."""
    return _each(event, "count")


def failed(event: dict[str, Any]) -> float:
    total = 0.0
    for one in _types(event):
        errors = one.get("errors")
        total += sum(_number(value) for value in errors.values()) if isinstance(errors, dict) else 0.0
    return total


def _times(intervals: list[dict[str, Any]], which: str, name: str) -> Floats:
    found = []
    for one in intervals:
        latency = one.get(which)
        known = isinstance(latency, dict) and _number(latency.get("count")) > 0
        found.append(_number(latency.get(name), math.nan) / 1e3 if known and isinstance(latency, dict) else math.nan)
    return np.array(found, dtype=np.float64)


def _stretches(t_s: Floats, seconds: Floats, phases: list[str], measured: set[str]) -> list[Stretch]:
    found: list[Stretch] = []
    for index, name in enumerate(phases):
        start, end = float(t_s[index] - seconds[index]), float(t_s[index])
        if found and found[-1].name == name:
            found[-1] = Stretch(name, found[-1].start_s, end, found[-1].measured)
        else:
            found.append(Stretch(name, start, end, name in measured))
    return found


def measured_phases(plan: Plan) -> set[str]:
    return {phase.name for phase in plan.phases if phase.measured}


def phases_of(record: RunRecord) -> tuple[PhaseOutcome, ...]:
    """The outcome's phases; of a run that was cut off, what its intervals add up to."""
    if record.outcome is not None and record.outcome.phases:
        return record.outcome.phases
    measured = measured_phases(record.plan)
    names: list[str] = []
    for event in record.intervals():
        if (name := str(event.get("phase", ""))) not in names:
            names.append(name)
    return tuple(_summed(name, record.intervals(name), name in measured) for name in names)


def _summed(name: str, intervals: list[dict[str, Any]], measured: bool) -> PhaseOutcome:
    seconds = sum(_number(one.get("seconds"), 1.0) for one in intervals)
    count = int(sum(counted(one) for one in intervals))
    types: dict[str, dict[str, Any]] = {}
    for event in intervals:
        for kind, one in (event.get("transactions") or {}).items():
            into = types.setdefault(kind, {"count": 0, "errors": {}, "retries": 0, "rollbacks": 0})
            for field_name in ("count", "retries", "rollbacks"):
                into[field_name] += int(_number(one.get(field_name)))
            for error, times in (one.get("errors") or {}).items():
                into["errors"][error] = into["errors"].get(error, 0) + int(_number(times))
    return PhaseOutcome(
        phase=name,
        started_t_s=_number(intervals[0].get("t_s")) - _number(intervals[0].get("seconds"), 1.0),
        seconds=seconds,
        threads=int(_number(intervals[0].get("threads"))),
        measured=measured,
        count=count,
        tps=count / seconds if seconds > 0 else 0.0,
        transactions=types,
        errors=int(sum(failed(one) for one in intervals)),
        retries=int(sum(_each(one, "retries") for one in intervals)),
        response=_merged(intervals, "response"),
        service=_merged(intervals, "service"),
    )


def _merged(intervals: list[dict[str, Any]], which: str) -> Latency:
    total = histogram.merged(str((event.get(which) or {}).get("hdr") or "") for event in intervals)
    if not total.count:
        return Latency()
    return Latency(
        count=total.count,
        mean_us=total.mean_us,
        max_us=total.max_us,
        p50_us=total.percentile_us(50),
        p90_us=total.percentile_us(90),
        p95_us=total.percentile_us(95),
        p99_us=total.percentile_us(99),
        p999_us=total.percentile_us(99.9),
        hdr=histogram.encode(total),
    )


def closed_phase(record: RunRecord) -> PhaseOutcome | None:
    """The phase that gives throughput: the first measured closed loop, else the first measured one."""
    modes = {phase.name: phase.mode for phase in record.plan.phases}
    phases = [phase for phase in phases_of(record) if phase.measured]
    return next((one for one in phases if modes.get(one.phase) == LoopMode.CLOSED), phases[0] if phases else None)


def open_phase(record: RunRecord) -> PhaseOutcome | None:
    """The phase that gives latency: the first measured one at a fixed rate, if any."""
    modes = {phase.name: phase.mode for phase in record.plan.phases}
    phases = (phase for phase in phases_of(record) if phase.measured)
    return next((one for one in phases if modes.get(one.phase) == LoopMode.OPEN), None)


def doubts_of(outcome: Outcome | None) -> tuple[DoubtNote, ...]:
    return outcome.doubts if outcome is not None else ()
