"""What a run's events and samples add up to. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dbdyno.model.fact import Scalar
from dbdyno.model.plan import Phase
from dbdyno.model.run import Latency, PhaseOutcome
from dbdyno.samples.series import SampleStore
from dbdyno.stats import histogram

COUNTER_ROLES = (
    "wal_bytes",
    "data_write_bytes",
    "checkpoints_timed",
    "checkpoints_requested",
    "checkpoint_write_ms",
    "checkpoint_sync_ms",
    "cache_hits",
    "cache_misses",
    "commits",
    "rollbacks",
    "deadlocks",
    "temp_bytes",
    "rows_written",
)
"""Differences that every outcome has, as far as the engine has the role."""

GIVEN_UP = "given_up"
Event = Mapping[str, Any]


def phases_of(events: Sequence[Event], planned: Iterable[Phase]) -> tuple[PhaseOutcome, ...]:
    """A phase for each `summary`; a phase that was cut off is summed up from its intervals."""
    measured = {phase.name: phase.measured for phase in planned}
    found: dict[str, PhaseOutcome] = {}
    for event in events:
        if event["event"] == "summary":
            found[event["phase"]] = _from_summary(event, measured.get(event["phase"], True))
    for name in dict.fromkeys(event["phase"] for event in events if event["event"] == "interval"):
        if name not in found:
            intervals = [e for e in events if e["event"] == "interval" and e["phase"] == name]
            found[name] = from_intervals(name, intervals, measured=measured.get(name, True))
    return tuple(sorted(found.values(), key=lambda phase: phase.started_t_s))


def count_of(transactions: Mapping[str, Mapping[str, Any]]) -> int:
    """Successful transactions of all types."""
    return sum(int(one.get("count", 0)) for one in transactions.values())


def errors_of(transactions: Mapping[str, Mapping[str, Any]]) -> int:
    """Transactions that were given up. The driver counts an error for every attempt that failed, by its class, and
    one of the class `given_up` where no attempt was left; an attempt that was repeated with success is a retry."""
    return sum(int(one.get("errors", {}).get(GIVEN_UP, 0)) for one in transactions.values())


def failed_attempts_of(transactions: Mapping[str, Mapping[str, Any]]) -> int:
    """Attempts that ended in an error of the server, repeated or not."""
    return sum(int(n) for one in transactions.values() for kind, n in one.get("errors", {}).items() if kind != GIVEN_UP)


def retries_of(transactions: Mapping[str, Mapping[str, Any]]) -> int:
    return sum(int(one.get("retries", 0)) for one in transactions.values())


def latency_of(event: Mapping[str, Any]) -> Latency:
    """The driver's `response` or `service`."""
    known = Latency.__struct_fields__
    return Latency(**{name: value for name, value in event.items() if name in known})


def _from_summary(event: Event, measured: bool) -> PhaseOutcome:
    count = count_of(event["transactions"])
    seconds = float(event["seconds"])
    cpu_us = float(event.get("cpu_user_us", 0)) + float(event.get("cpu_system_us", 0))
    return PhaseOutcome(
        phase=event["phase"],
        started_t_s=float(event["started_t_s"]),
        seconds=seconds,
        threads=int(event["threads"]),
        measured=measured,
        count=count,
        tps=count / seconds if seconds > 0 else 0.0,
        transactions=event["transactions"],
        errors=errors_of(event["transactions"]),
        retries=retries_of(event["transactions"]),
        response=latency_of(event["response"]),
        service=latency_of(event["service"]),
        by_type={
            name: {which: latency_of(times) for which, times in both.items()}
            for name, both in event.get("by_type", {}).items()
        },
        figures={name: float(value) for name, value in event.get("workload", {}).items()},
        driver_cpu_us_per_transaction=cpu_us / count if count else 0.0,
    )


def from_intervals(name: str, intervals: Sequence[Event], *, measured: bool) -> PhaseOutcome:
    """A phase from its intervals alone; it lacks what only a summary has (times by type, the workload's figures)."""
    seconds = sum(float(one["seconds"]) for one in intervals)
    transactions: dict[str, dict[str, Any]] = {}
    for one in intervals:
        for kind, counts in one["transactions"].items():
            total = transactions.setdefault(kind, {"count": 0, "errors": {}, "retries": 0, "rollbacks": 0})
            for field in ("count", "retries", "rollbacks"):
                total[field] += counts.get(field, 0)
            for error, n in counts.get("errors", {}).items():
                total["errors"][error] = total["errors"].get(error, 0) + n
    count = count_of(transactions)
    return PhaseOutcome(
        phase=name,
        started_t_s=float(intervals[0]["t_s"]) - float(intervals[0]["seconds"]) if intervals else 0.0,
        seconds=seconds,
        threads=int(intervals[-1]["threads"]) if intervals else 0,
        measured=measured,
        count=count,
        tps=count / seconds if seconds > 0 else 0.0,
        transactions=transactions,
        errors=errors_of(transactions),
        retries=retries_of(transactions),
        response=_merged(one["response"] for one in intervals),
        service=_merged(one["service"] for one in intervals),
    )


def _merged(times: Iterable[Mapping[str, Any]]) -> Latency:
    found = histogram.merged(one.get("hdr", "") for one in times)
    at = found.percentiles_us([50, 90, 95, 99, 99.9])
    return Latency(
        count=found.count,
        mean_us=found.mean_us,
        max_us=found.max_us,
        p50_us=at[50],
        p90_us=at[90],
        p95_us=at[95],
        p99_us=at[99],
        p999_us=at[99.9],
        hdr=histogram.encode(found),
    )


def server_differences(store: SampleStore, phases: Sequence[PhaseOutcome], *, device: str | None) -> dict[str, Scalar]:
    """How much each counter rose over the measured phases; None where it is not known (a reset, no answers)."""
    spans = [(phase.started_t_s, phase.started_t_s + phase.seconds) for phase in phases if phase.measured]
    if not spans:
        return {}

    def over(role: str, key: Mapping[str, str] | None = None) -> float | None:
        parts = [store.increase_of_role(role, start, end, key) for start, end in spans]
        known = [part for part in parts if part is not None]
        return sum(known) if len(known) == len(parts) else None

    found: dict[str, Scalar] = {role: over(role) for role in COUNTER_ROLES if store.find_role(role)}
    found |= _written(over, device) | _disk(over, device)
    for who in ("server", "driver", "dyno"):
        if (cpu_s := over("process_cpu_s", {"who": who})) is not None:
            found[f"{who}_cpu_s"] = round(cpu_s, 3)
    hits, misses = found.get("cache_hits"), found.get("cache_misses")
    if isinstance(hits, float) and isinstance(misses, float) and hits + misses > 0:
        found["cache_hit_ratio"] = hits / (hits + misses)
    if dead := store.by_role("dead_rows"):
        values = dead.between(spans[0][0], spans[-1][1]).values
        found["dead_rows_end"] = float(values[-1]) if values.size and values[-1] == values[-1] else None
    return found


def _written(over: Any, device: str | None) -> dict[str, Scalar]:
    """`write_bytes` from the best witness there is, with its name: a device that is the server's alone, the server's
    processes (the kernel charges its write-back to whoever dirtied the page), the server's own counters, a device that
    it shares with all the machine."""
    on_device = (f"device {device}", over("disk_write_bytes", {"device": device}) if device else None)
    alone = device is not None and device.startswith("loop")
    witnesses: list[tuple[str, float | None]] = [
        ("server processes", over("process_write_bytes", {"who": "server"})),
        ("server counters", _sum(over("wal_bytes"), over("data_write_bytes"))),
    ]
    witnesses.insert(0 if alone else len(witnesses), on_device)
    for witness, value in witnesses:
        if value is not None:
            return {"write_bytes": value, "write_bytes_source": witness}
    return {}


def _disk(over: Any, device: str | None) -> dict[str, Scalar]:
    """What the disk of the data took: operations, bytes, and the time that each write took, summed."""
    names = ("disk_writes", "disk_write_bytes", "disk_write_ms")
    found = {name: over(name, {"device": device}) for name in names} if device else {}
    return {name: value for name, value in found.items() if value is not None}


def _sum(*parts: float | None) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None
