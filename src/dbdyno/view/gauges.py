"""What the terminal view shows: one gauge a line, each made from roles, so that it fits any engine.

A gauge is a series with a word for its present value; a limit, where the server has one, is drawn as the top.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dbdyno.report import figures
from dbdyno.samples.series import Floats, SampleStore, Series, server_throughput


@dataclass(frozen=True)
class Gauge:
    """One line of the view."""

    title: str
    series: Series
    limit: float | None = None
    """Value at which something bad happens, in the series' unit."""
    bad_high: bool = False
    """Whether a high value is the trouble."""


Build = Callable[[SampleStore, Sequence[dict[str, Any]]], Gauge | None]


def _role(title: str, role: str, *, bad_high: bool = False, factor: float = 1.0, unit: str | None = None) -> Build:
    def build(store: SampleStore, _intervals: Sequence[dict[str, Any]]) -> Gauge | None:
        series = store.by_role(role)
        if series is None or not len(series.t_s):
            return None
        return Gauge(title, Series(series.t_s, series.values * factor, unit or series.unit), bad_high=bad_high)

    return build


def _limited(title: str, role: str, limit_role: str) -> Build:
    """A gauge with the server's own limit."""

    def build(store: SampleStore, _intervals: Sequence[dict[str, Any]]) -> Gauge | None:
        series, most = store.by_role(role), store.by_role(limit_role)
        if series is None or not len(series.t_s):
            return None
        limit = float(most.values[-1]) if most is not None and len(most.values) else None
        return Gauge(title, series, limit=limit if limit and np.isfinite(limit) else None, bad_high=True)

    return build


def _throughput(store: SampleStore, intervals: Sequence[dict[str, Any]]) -> Gauge | None:
    if intervals:
        t_s = np.array([float(one["t_s"]) for one in intervals])
        counts = [sum(kind["count"] for kind in one["transactions"].values()) for one in intervals]
        seconds = [max(float(one["seconds"]), 1e-9) for one in intervals]
        return Gauge("throughput", Series(t_s, np.array(counts) / np.array(seconds), "1/s"))
    series = server_throughput(store)
    if series is None or not len(series.t_s):
        return None
    return Gauge("throughput", series)


def _response(percentile: str, title: str) -> Build:
    def build(_store: SampleStore, intervals: Sequence[dict[str, Any]]) -> Gauge | None:
        there = [one for one in intervals if one.get("response", {}).get("count")]
        if not there:
            return None
        t_s = np.array([float(one["t_s"]) for one in there])
        values = np.array([float(one["response"][percentile]) / 1e3 for one in there])
        return Gauge(title, Series(t_s, values, "ms"), bad_high=True)

    return build


def _hit_ratio(store: SampleStore, _intervals: Sequence[dict[str, Any]]) -> Gauge | None:
    hits, misses = store.by_role("cache_hits"), store.by_role("cache_misses")
    if hits is None or misses is None or len(hits.t_s) != len(misses.t_s) or not len(hits.t_s):
        return None
    both = hits.values + misses.values
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(both > 0, 100 * hits.values / both, np.nan)
    return Gauge("cache hits", Series(hits.t_s, part, "%"), limit=100.0)


def _cpu(store: SampleStore, _intervals: Sequence[dict[str, Any]]) -> Gauge | None:
    parts = {name: store.by_role(f"cpu_{name}_s") for name in ("user", "system", "idle", "iowait", "steal")}
    known = {name: one for name, one in parts.items() if one is not None and len(one.t_s)}
    if "idle" not in known or "user" not in known or len({len(one.t_s) for one in known.values()}) != 1:
        return None
    total: Floats = np.sum([np.nan_to_num(one.values) for one in known.values()], axis=0)
    calm = np.nan_to_num(known["idle"].values)
    if "iowait" in known:
        calm = calm + np.nan_to_num(known["iowait"].values)
    with np.errstate(divide="ignore", invalid="ignore"):
        busy = np.where(total > 0, 100 * (total - calm) / total, np.nan)
    return Gauge("processor", Series(known["idle"].t_s, busy, "%"), limit=100.0, bad_high=True)


def busiest_disk(store: SampleStore) -> tuple[str, str] | None:
    """The probe of disks and the device that wrote most."""
    place = store.find_role("disk_writes")
    if place is None:
        return None
    keys = store.keys(place[0])
    best = max(keys, key=lambda key: float(np.nan_to_num(store.series(*place, key).mean())), default=None)
    return (place[0], best) if best is not None else None


def _disk_wait(store: SampleStore, _intervals: Sequence[dict[str, Any]]) -> Gauge | None:
    found = busiest_disk(store)
    if found is None:
        return None
    spent, count = (store.series(found[0], column, found[1]) for column in ("write_ms", "writes"))
    if not len(spent.t_s) or len(spent.t_s) != len(count.t_s):
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(count.values > 0, spent.values / count.values, np.nan)
    return Gauge(f"write wait {found[1]}", Series(spent.t_s, each, "ms"), bad_high=True)


def _disk_busy(store: SampleStore, _intervals: Sequence[dict[str, Any]]) -> Gauge | None:
    found = busiest_disk(store)
    place = store.find_role("disk_busy_ms")
    if found is None or place is None:
        return None
    series = store.series(*place, found[1])
    if not len(series.t_s):
        return None
    return Gauge(f"busy {found[1]}", Series(series.t_s, series.values / 10.0, "%"), limit=100.0, bad_high=True)


GAUGES: tuple[Build, ...] = (
    _throughput,
    _response("p50_us", "response p50"),
    _response("p99_us", "response p99"),
    _limited("checkpoint age", "checkpoint_distance_bytes", "checkpoint_age_limit_bytes"),
    _role("log written", "wal_bytes"),
    _role("dirty pages", "dirty_pages_bytes", bad_high=True),
    _role("history list", "history_list_length", bad_high=True),
    _role("dead rows", "dead_rows", bad_high=True),
    _hit_ratio,
    _role("waiting", "waiting", bad_high=True),
    _role("connections", "connections"),
    _role("oldest transaction", "oldest_transaction_s", bad_high=True),
    _role("replica lag", "replication_lag_bytes", bad_high=True),
    _cpu,
    _disk_busy,
    _disk_wait,
    _role("disk writes", "disk_write_bytes"),
    _role("dirty in kernel", "dirty_bytes", bad_high=True),
    _role("memory left", "memory_available_bytes"),
    _role("swapped out", "swap_out_bytes", bad_high=True),
)
"""In the order of their weight: a low screen shows the first ones."""


def gauges(store: SampleStore, intervals: Sequence[dict[str, Any]]) -> list[Gauge]:
    """All that the samples can tell."""
    found = (build(store, intervals) for build in GAUGES)
    return [gauge for gauge in found if gauge is not None]


def top_waits(store: SampleStore, at_s: float, count: int = 3) -> list[tuple[str, float]]:
    """What client connections wait for at a moment, the most frequent first."""
    place = store.find_role("waiting")
    if place is None:
        return []
    found: list[tuple[str, float]] = []
    for key in store.keys(place[0]):
        series = store.series(*place, key, rate=False).between(at_s - 3.0, at_s)
        mean = series.mean()
        if np.isfinite(mean) and mean > 0:
            found.append((key, mean))
    return sorted(found, key=lambda one: -one[1])[:count]


def words(value: float, unit: str) -> str:
    """A value in at most ten characters."""
    if not np.isfinite(value):
        return "–"
    if unit in ("B", "B/s"):
        return figures.size(value).replace(figures.HARD, " ") + ("/s" if unit == "B/s" else "")
    if unit == "ms":
        return figures.milliseconds(value).replace(figures.HARD, " ")
    if unit == "s":
        return figures.seconds(value).replace(figures.HARD, " ")
    text = figures.number(value).replace(figures.HARD, " ")
    return text + {"%": " %", "1/s": "/s"}.get(unit, "")
