"""A run folder as a `Recording`."""

from __future__ import annotations

import functools
from pathlib import Path

import msgspec
import numpy as np

from dbdyno.explain.columns import ColumnStore
from dbdyno.explain.events import events_of
from dbdyno.explain.finding_stalls import Lull, driver_stalls, server_stalls
from dbdyno.explain.load import DriverLoad, read_load
from dbdyno.model.facts import Facts
from dbdyno.model.probe import Probe
from dbdyno.model.recording import Event, MissingSeries, Series, Stall
from dbdyno.run.record import EVENTS, PROBES, SAMPLES, RunRecord, open_run
from dbdyno.samples.series import Series as Samples
from dbdyno.samples.series import server_throughput
from dbdyno.stats.phases import Phase, phases


class RunRecording:
    """Implements `Recording` over a run folder, finished or cut off. Raises `RecordError` when it is not one."""

    def __init__(self, folder: Path) -> None:
        self.record: RunRecord = open_run(folder)
        self.store = ColumnStore(_probes(folder), folder / SAMPLES)
        self.load: DriverLoad = read_load(folder / EVENTS, self.record.plan)
        # What was read before the run holds for it; what was only read afterwards is better than nothing.
        self.facts = Facts([*self.record.facts("after"), *self.record.facts("before")])
        self.throughput = _throughput(self.load, self.store)
        self.duration_s = self._duration_s()
        self.events: tuple[Event, ...] = events_of(self.store, self.load, self.duration_s)
        self.phases: list[Phase] = []
        self.lulls: list[Lull] = []
        self.stalls: tuple[Stall, ...] = self._find_stalls()

    @property
    def engine(self) -> str:
        return self.record.plan.target.engine

    @property
    def from_driver(self) -> bool:
        """Whether throughput is what the driver saw; else it is what the server committed."""
        return bool(self.load.stretches)

    @functools.cached_property
    def unreadable_lines(self) -> int:
        return self.store.unreadable + self.load.unreadable

    def series(self, probe: str, column: str, key: str | None = None) -> Series:
        name = f"{probe}.{column}" + (f"/{key}" if key is not None else "")
        found = self._cached(name, probe, column, key)
        if isinstance(found, str):
            raise MissingSeries(name, found)
        return found

    def role(self, role: str, key: str | None = None) -> Series:
        found = self.store.find_role(role)
        if found is None:
            raise MissingSeries(role, "no probe of the record has this role")
        return self.series(*found, key)

    def keys(self, probe: str) -> list[str]:
        return self.store.keys(probe)

    def texts(self, probe: str, column: str, key: str | None = None) -> list[tuple[float, str]]:
        if not self.store.samples_known(probe):
            raise MissingSeries(f"{probe}.{column}", self.store.reason(probe) or "not recorded")
        return [(t_s, str(word)) for t_s, word in self.store.texts(probe, column, key) if word]

    @functools.lru_cache(maxsize=4096)  # noqa: B019 - lives as long as one explanation
    def _cached(self, name: str, probe: str, column: str, key: str | None) -> Series | str:
        """The series, or why there is none."""
        found: Samples = self.store.series(probe, column, key)
        if not np.isfinite(found.values).any():
            return self.store.reason(probe) or "not recorded"
        return Series(name, found.t_s, found.values, found.unit)

    def _duration_s(self) -> float:
        ends = [float(one.t_s[-1]) for one in self.load.stretches]
        ends += [self.store.last_s()]
        return max(0.0, *ends)

    def _find_stalls(self) -> tuple[Stall, ...]:
        if self.from_driver:
            measured = [one for one in self.load.stretches if one.measured] or self.load.stretches
            for one in measured:
                self.phases += phases(one.t_s, one.per_s)
            return driver_stalls(measured)
        if not len(self.throughput):
            return ()
        self.phases = phases(self.throughput.t_s, self.throughput.values)
        stalls, self.lulls = server_stalls(self.throughput, self._busy())
        return stalls

    def _busy(self) -> Series | None:
        """Clients that are busy or wait: what tells a stall from a lull."""
        try:
            return self.role("waiting")
        except MissingSeries:
            return None


def _throughput(load: DriverLoad, store: ColumnStore) -> Series:
    if load.stretches:
        t_s = np.concatenate([one.t_s for one in load.stretches])
        per_s = np.concatenate([one.per_s for one in load.stretches])
        return Series("throughput", t_s, per_s, "1/s")
    counted = server_throughput(store)
    if counted is None:
        return Series("throughput", np.empty(0), np.empty(0), "1/s")
    return Series("throughput", counted.t_s, counted.values, "1/s")


def _probes(folder: Path) -> list[Probe]:
    try:
        return msgspec.json.decode((folder / PROBES).read_bytes(), type=list[Probe])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return []
