"""What happened when, from series that mean the same on every engine."""

from __future__ import annotations

import numpy as np

from dbdyno.explain.jobs import jobs
from dbdyno.explain.load import DriverLoad
from dbdyno.model.recording import Event
from dbdyno.samples.series import SampleStore

_CLOCK_STEP_S = 0.5
_EVENTS_MAX = 2000
_ONE_KIND_MAX = 500
"""So that many of one kind leave room for the few of another."""
_FELL = 0.2
"""Share of the distance by which it falls when a checkpoint ends. Where the oldest changed page is followed all the
time, it falls a little at any moment."""


def events_of(store: SampleStore, load: DriverLoad, duration_s: float) -> tuple[Event, ...]:
    """In order of time, at most a few thousand, of one kind at most some hundreds."""
    found = [*_checkpoints(store), *_restarts(store), *_resets(store), *_silences(store), *_clock_steps(load, store)]
    found += jobs(store)
    kinds: dict[str, list[Event]] = {}
    for one in sorted(found, key=lambda one: one.t_s):
        if one.t_s <= duration_s:
            kinds.setdefault(one.kind, []).append(one)
    inside = [one for events in kinds.values() for one in events[:_ONE_KIND_MAX]]
    return tuple(sorted(inside, key=lambda one: one.t_s)[:_EVENTS_MAX])


def _checkpoints(store: SampleStore) -> list[Event]:
    """Ends of checkpoints, where the log's distance to the last one fell (the log itself only grows); begins by the
    time that they say they took."""
    distance = store.by_role("checkpoint_distance_bytes")
    if distance is None or distance.t_s.size < 2:
        return []
    found = []
    spent = [store.by_role("checkpoint_write_ms", rate=False), store.by_role("checkpoint_sync_ms", rate=False)]
    for index in np.flatnonzero(distance.values[1:] < (1 - _FELL) * distance.values[:-1]) + 1:
        end_s = float(distance.t_s[index])
        took_s = 0.0
        for series in spent:
            if series is not None and series.t_s.size:
                around = series.between(end_s - 3.0, end_s + 2.0).values
                around = around[np.isfinite(around)]
                took_s += float(np.ptp(around)) / 1e3 if around.size else 0.0
        found.append(
            Event(t_s=max(0.0, end_s - took_s), end_s=end_s, kind="checkpoint", says=f"checkpoint of {took_s:.1f} s")
        )
    return found


def _restarts(store: SampleStore) -> list[Event]:
    started = store.by_role("server_started")
    if started is None:
        return []
    there = np.isfinite(started.values)
    t_s, values = started.t_s[there], started.values[there]
    return [
        Event(t_s=float(t_s[index + 1]), kind="restart", says="the server was started again")
        for index in np.flatnonzero(np.diff(values) > 1.0)
    ]


def _resets(store: SampleStore) -> list[Event]:
    reset = store.by_role("statistics_reset")
    if reset is None:
        return []
    there = np.isfinite(reset.values)
    t_s, values = reset.t_s[there], reset.values[there]
    return [
        Event(t_s=float(t_s[index + 1]), kind="statistics_reset", says="the server's statistics were reset")
        for index in np.flatnonzero(np.diff(values) > 0)
    ]


def _silences(store: SampleStore) -> list[Event]:
    """Stretches in which the server did not answer."""
    found = store.find_role("commits")
    if found is None:
        return []
    series = store.series(*found, rate=False)
    silent = np.concatenate([[0], np.isnan(series.values).astype(np.int8), [0]])
    edges = np.flatnonzero(np.diff(silent))
    events = []
    for first, end in zip(edges[::2], edges[1::2], strict=True):
        last = float(series.t_s[min(end, len(series.t_s) - 1)])
        events.append(
            Event(t_s=float(series.t_s[first]), end_s=last, kind="unreachable", says="the server did not answer")
        )
    return events


def _clock_steps(load: DriverLoad, store: SampleStore) -> list[Event]:
    """The wall clock against the monotonic one, between the readings of both."""
    boot = store.by_role("boot_unix_s")
    if boot is not None and np.isfinite(boot.values).any():
        there = np.isfinite(boot.values)
        t_s, values = boot.t_s[there], boot.values[there]
        return [
            Event(t_s=float(t_s[index + 1]), kind="clock_step", says=f"the clock was set by {change:+.0f} s")
            for index, change in enumerate(np.diff(values))
            if abs(change) > 1.5
        ]
    steps = []
    for (unix, monotonic), (later_unix, later) in zip(load.clock, load.clock[1:], strict=False):
        change = (later_unix - unix) - (later - monotonic)
        if abs(change) > _CLOCK_STEP_S:
            steps.append(Event(t_s=0.0, kind="clock_step", says=f"the clock was set by {change:+.1f} s"))
    return steps
