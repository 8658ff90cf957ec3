"""Which of a run's samples are drawn, chosen by what their columns mean (roles), on any engine.

A table of panels: each names roles and how they become curves. A panel without data is left out; a probe that could
not be asked is told elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dbdyno.model.probe import ColumnKind
from dbdyno.report.shapes import Chart, Line, Mark
from dbdyno.report.thin import Floats, thin
from dbdyno.run.record import RunRecord
from dbdyno.samples.series import SampleStore, Series

PALETTE = (1, 2, 3, 4, 6, 0, 7)
KEYS_MAX = 6
"""Most curves of a probe with keys; the rest is left to the raw data."""


@dataclass(frozen=True)
class Curve:
    label: str
    series: Series


Build = Callable[[SampleStore], list[Curve]]


@dataclass(frozen=True)
class Panel:
    id: str
    title: str
    unit: str
    axis: str
    build: Build
    says: str = ""
    floor: float | None = None


def _scaled(series: Series, factor: float, unit: str) -> Series:
    return Series(series.t_s, series.values * factor, unit)


def _roles(wanted: Sequence[tuple[str, str]], factor: float = 1.0) -> Build:
    """Curves of roles: counters as rates, gauges as they are."""

    def build(store: SampleStore) -> list[Curve]:
        found = []
        for label, role in wanted:
            series = store.by_role(role)
            if series is not None:
                found.append(Curve(label, _scaled(series, factor, series.unit)))
        return found

    return build


def _hit_ratio(store: SampleStore) -> list[Curve]:
    hits, misses = store.by_role("cache_hits"), store.by_role("cache_misses")
    if hits is None or misses is None or len(hits.t_s) != len(misses.t_s):
        return []
    both = hits.values + misses.values
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(both > 0, 100 * hits.values / both, np.nan)
    return [Curve("found in the server's cache", Series(hits.t_s, part, "%"))]


def _keyed(role: str) -> Build:
    """The rows of a probe with keys that are largest on average."""

    def build(store: SampleStore) -> list[Curve]:
        place = store.find_role(role)
        if place is None:
            return []
        all_keys = [(key, store.series(*place, key)) for key in store.keys(place[0])]
        ranked = sorted(all_keys, key=lambda one: -np.nan_to_num(one[1].mean()))
        return [Curve(key, series) for key, series in ranked[:KEYS_MAX] if series.mean() > 0]

    return build


_CPU = {
    "user": ("user", "nice"),
    "system": ("system", "irq", "softirq"),
    "waiting for disk": ("iowait",),
    "stolen": ("steal",),
}


def _cpu(store: SampleStore) -> list[Curve]:
    """Parts of all processor time, per cent of the whole machine."""
    states = {name: store.by_role(f"cpu_{name}_s") for names in (*_CPU.values(), ("idle",)) for name in names}
    known = {name: one for name, one in states.items() if one is not None and len(one.t_s)}
    if "idle" not in known or len({len(one.t_s) for one in known.values()}) != 1:
        return []
    total = sum(np.nan_to_num(one.values) for one in known.values())
    found = []
    for label, names in _CPU.items():
        mine = [known[name].values for name in names if name in known]
        if not mine:
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            part = 100 * sum(np.nan_to_num(one) for one in mine) / np.where(total > 0, total, np.nan)
        if label != "stolen" or np.nanmax(part, initial=0.0) > 0.1:
            found.append(Curve(label, Series(known["idle"].t_s, part, "%")))
    return found


def _device(store: SampleStore) -> tuple[str, str] | None:
    """The probe of disks and the device that wrote most."""
    place = store.find_role("disk_writes")
    if place is None:
        return None
    keys = store.keys(place[0])
    busiest = max(keys, key=lambda key: np.nan_to_num(store.series(*place, key).mean()), default=None)
    return (place[0], busiest) if busiest is not None else None


def _disk(wanted: Sequence[tuple[str, str]]) -> Build:
    def build(store: SampleStore) -> list[Curve]:
        if (found := _device(store)) is None:
            return []
        probe, device = found
        return [Curve(f"{label} ({device})", store.series(probe, column, device)) for label, column in wanted]

    return build


def _disk_wait(store: SampleStore) -> list[Curve]:
    """Mean time of an operation: rate of the summed time over the rate of operations."""
    if (found := _device(store)) is None:
        return []
    probe, device = found
    curves = []
    for label, time, count in (
        ("reads", "read_ms", "reads"),
        ("writes", "write_ms", "writes"),
        ("flushes", "flush_ms", "flushes"),
    ):
        spent, done = store.series(probe, time, device), store.series(probe, count, device)
        if len(spent.t_s) == 0 or len(spent.t_s) != len(done.t_s):
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = np.where(done.values > 0, spent.values / done.values, np.nan)
        curves.append(Curve(f"{label} ({device})", Series(spent.t_s, mean, "ms")))
    return curves


PANELS = (
    Panel("wal", "Write-ahead log", "bytes/s", "bytes per second", _roles([("log written", "wal_bytes")])),
    Panel(
        "distance",
        "Log since the last checkpoint",
        "bytes",
        "bytes",
        _roles([("log to replay after a crash", "checkpoint_distance_bytes")]),
    ),
    Panel(
        "pages",
        "Data pages written by the server",
        "bytes/s",
        "bytes per second",
        _roles([("data pages", "data_write_bytes"), ("temporary files", "temp_bytes")]),
    ),
    Panel("hits", "Cache hit ratio", "%", "per cent", _hit_ratio, floor=0.0),
    Panel(
        "waits",
        "What busy connections wait for",
        "connections",
        "connections",
        _keyed("waiting"),
        "The largest kinds; CPU means running.",
    ),
    Panel(
        "locks",
        "Deadlocks and rollbacks",
        "per s",
        "per second",
        _roles([("deadlocks", "deadlocks"), ("rollbacks", "rollbacks")]),
    ),
    Panel("cpu", "Processor, whole machine", "%", "per cent", _cpu),
    Panel("processes", "Processor by program", "cores", "cores", _keyed("process_cpu_s")),
    Panel(
        "iops",
        "Disk operations",
        "per s",
        "per second",
        _disk([("reads", "reads"), ("writes", "writes"), ("flushes", "flushes")]),
    ),
    Panel(
        "bandwidth",
        "Disk volume",
        "bytes/s",
        "bytes per second",
        _disk([("read", "read_bytes"), ("written", "write_bytes")]),
    ),
    Panel("await", "Mean time of a disk operation", "ms", "milliseconds", _disk_wait),
    Panel("dirty", "Page cache not yet written", "bytes", "bytes", _roles([("dirty", "dirty_bytes")])),
    Panel(
        "pressure",
        "Pressure: time in which some task waited",
        "%",
        "per cent",
        _roles(
            [
                ("for disk", "pressure_io_us"),
                ("for processor", "pressure_cpu_us"),
                ("for memory", "pressure_memory_us"),
            ],
            1e-4,
        ),
    ),
    Panel("swap", "Swapped out", "bytes/s", "bytes per second", _roles([("swap", "swap_out_bytes")])),
)
_ONLY_WHEN_SEEN = {"swap", "locks"}
"""Drawn only when anything happened: an empty chart of swap says less than its absence."""
_NEAR = 0.3
"""Part of a step."""


def panel_charts(record: RunRecord, marks: list[Mark], group: str) -> list[Chart]:
    """Charts of all panels with data, on the run's time axis."""
    store = record.samples()
    charts = []
    for panel in PANELS:
        curves = [one for one in panel.build(store) if np.isfinite(one.series.values).any()]
        if panel.id in _ONLY_WHEN_SEEN:
            curves = [one for one in curves if np.nanmax(one.series.values) > 0]
        if curves:
            charts.append(_chart(panel, curves, marks, group))
    return charts


def _chart(panel: Panel, curves: list[Curve], marks: list[Mark], group: str) -> Chart:
    t_s, columns = aligned([one.series for one in curves])
    thinned = thin(t_s, columns)
    lines = [
        Line(
            label=one.label,
            color=PALETTE[index % len(PALETTE)],
            values=thinned.mean[index],
            low=thinned.low[index] if thinned.low else [],
            high=thinned.high[index] if thinned.high else [],
            dash=index >= 3,
        )
        for index, one in enumerate(curves)
    ]
    return Chart(
        id=f"{group}-{panel.id}",
        group=group,
        title=panel.title,
        unit=panel.unit,
        axis=panel.axis,
        x=thinned.t_s,
        lines=lines,
        marks=marks,
        says=panel.says,
        floor=panel.floor,
        fill=len(lines) == 1 and panel.floor is None,
    )


def aligned(many: list[Series]) -> tuple[Floats, list[Floats]]:
    """All series on one time axis; they share it when they come from one probe.

    Two probes of one second are asked one after the other: stamps closer than `_NEAR` of a step are one moment, the
    first of them. Without that no value would have a neighbour, and no line would be drawn.
    """
    first = many[0].t_s
    if all(len(one.t_s) == len(first) and np.array_equal(one.t_s, first) for one in many):
        return first, [one.values for one in many]
    near_s = _NEAR * min((float(np.median(np.diff(one.t_s))) for one in many if len(one.t_s) > 1), default=0.0)
    moments: list[float] = []
    for t in np.unique(np.concatenate([one.t_s for one in many])):
        if not moments or t - moments[-1] > near_s:
            moments.append(float(t))
    t_s = np.array(moments)
    columns = []
    for one in many:
        column = np.full(len(t_s), np.nan)
        column[np.searchsorted(t_s, one.t_s, side="right") - 1] = one.values
        columns.append(column)
    return t_s, columns


def checkpoints(record: RunRecord) -> list[Mark]:
    """When the counters of checkpoints rose: `timed`, or `forced` by volume or a command."""
    store = record.samples()
    marks = []
    for role, kind, label in (
        ("checkpoints_timed", "timed", "checkpoint by the clock"),
        ("checkpoints_requested", "forced", "checkpoint forced by log volume or a command"),
    ):
        place = store.find_role(role)
        if place is None or not any(
            one.role == role and one.kind is ColumnKind.COUNTER for one in store.columns(place[0])
        ):
            continue
        raw = store.series(*place, rate=False)
        there = np.isfinite(raw.values)
        t_s, values = raw.t_s[there], raw.values[there]
        rose = np.flatnonzero(np.diff(values) > 0) + 1
        marks += [
            Mark(t_s=round(float(t_s[at]), 2), kind=kind, color=6 if kind == "forced" else 4, label=label)
            for at in rose
        ]
    return sorted(marks, key=lambda mark: mark.t_s)
