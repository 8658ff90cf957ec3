"""Samples as series: the only place where counters become rates, and where resets and gaps are found.

A record keeps raw counters. A rate belongs to the time of the later of its two samples. Where a counter fell (server
restarted, statistics reset), where a question was not answered, and where the distance of two answers is much longer
than asked for, the rate is NaN: a hole that is seen, not a line drawn through it.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dbdyno.model.fact import Scalar
from dbdyno.model.probe import Column, ColumnKind, Probe, Sample

Floats = npt.NDArray[np.float64]
Key = str | Mapping[str, str] | None

_GAP = 3.5
"""Longest distance of two answers, in multiples of the usual one, over which a rate is still drawn."""


@dataclass(frozen=True)
class Series:
    """Values over seconds since the driver's start; NaN where there is none."""

    t_s: Floats
    values: Floats
    unit: str

    def between(self, start_s: float, end_s: float) -> Series:
        """The part with start_s <= t <= end_s."""
        inside = (self.t_s >= start_s) & (self.t_s <= end_s)
        return Series(self.t_s[inside], self.values[inside], self.unit)

    def mean(self) -> float:
        """Mean of the values that are there; NaN when there is none."""
        there = self.values[~np.isnan(self.values)]
        return float(there.mean()) if there.size else float("nan")


class SampleStore:
    """All samples of a record, by probe."""

    def __init__(self, probes: Iterable[Probe], samples: Iterable[Sample]) -> None:
        self._probes = {probe.name: probe for probe in probes}
        self._samples: dict[str, list[Sample]] = {name: [] for name in self._probes}
        for sample in samples:
            self._samples.setdefault(sample.probe, []).append(sample)
        for found in self._samples.values():
            found.sort(key=lambda sample: sample.t_s)

    def probes(self) -> list[str]:
        """Names of the probes that were answered at least once."""
        return [name for name in self._samples if name in self._probes and any(s.rows for s in self._samples[name])]

    def known(self) -> list[str]:
        """Names of all probes that were to be asked."""
        return list(self._probes)

    def probe(self, name: str) -> Probe | None:
        return self._probes.get(name)

    def columns(self, probe: str) -> tuple[Column, ...]:
        """The probe's columns; none for a probe that is not in the record."""
        known = self._probes.get(probe)
        return known.columns if known else ()

    def samples(self, probe: str) -> Sequence[Sample]:
        """Raw samples in order of time."""
        return self._samples.get(probe, [])

    def keys(self, probe: str) -> list[str]:
        """Keys of the rows that occurred, joined with `/` when there are several key columns."""
        names = self._key_columns(probe)
        if not names:
            return []
        return sorted({_joined(row, names) for sample in self.samples(probe) for row in sample.rows})

    def unknown(self) -> dict[str, str]:
        """Reason by probe, for those whose last answer was none."""
        return {name: found[-1].unknown for name, found in self._samples.items() if found and found[-1].unknown}

    def find_role(self, role: str) -> tuple[str, str] | None:
        """Probe and column that have the role."""
        for probe in self._probes.values():
            for column in probe.columns:
                if column.role == role:
                    return probe.name, column.name
        return None

    def series(self, probe: str, column: str, key: Key = None, *, rate: bool | None = None) -> Series:
        """One column over time.

        `key` picks a row of a probe with keys: the joined key, or values by key column (all other rows are summed);
        None sums all rows. `rate`: None makes rates per second of counters and leaves gauges, False gives raw values.
        A column that is not in the record gives an empty series.
        """
        known = self._probes.get(probe)
        definition = known.column(column) if known else None
        if definition is None:
            return Series(np.empty(0), np.empty(0), "")
        t_s, values = self._raw(probe, definition, key)
        counter = definition.kind is ColumnKind.COUNTER
        if not (counter if rate is None else rate):
            return Series(t_s, values, definition.unit)
        unit = f"{definition.unit or '1'}/s"
        return Series(t_s[1:], self._rates(probe, t_s, values), unit)

    def by_role(self, role: str, key: Key = None, *, rate: bool | None = None) -> Series | None:
        """The series of a role; None when no probe of the record has it."""
        found = self.find_role(role)
        return self.series(*found, key, rate=rate) if found else None

    def texts(self, probe: str, column: str, key: Key = None) -> list[tuple[float, Scalar]]:
        """Times and values of a column of words."""
        names = self._key_columns(probe)
        return [
            (sample.t_s, row.get(column))
            for sample in self.samples(probe)
            for row in sample.rows
            if _matches(row, key, names)
        ]

    def increase(self, probe: str, column: str, start_s: float, end_s: float, key: Key = None) -> float | None:
        """How much a counter rose between two times, its value interpolated at both ends.

        None when it is not known: no answers around the time, or the counter fell in it.
        """
        known = self._probes.get(probe)
        definition = known.column(column) if known else None
        if definition is None or end_s <= start_s:
            return None
        t_s, values = self._raw(probe, definition, key)
        there = ~np.isnan(values)
        t_s, values = t_s[there], values[there]
        slack_s = _GAP * self._cadence_s(probe, t_s)
        if t_s.size < 2 or t_s[0] > start_s + slack_s or t_s[-1] < end_s - slack_s:
            return None
        first = max(0, bisect.bisect_right(t_s.tolist(), start_s) - 1)
        last = min(t_s.size, bisect.bisect_left(t_s.tolist(), end_s) + 1)
        if np.any(np.diff(values[first:last]) < 0):
            return None
        low, high = np.interp([start_s, end_s], t_s, values)
        return float(high - low)

    def increase_of_role(self, role: str, start_s: float, end_s: float, key: Key = None) -> float | None:
        found = self.find_role(role)
        return self.increase(*found, start_s, end_s, key) if found else None

    def resets(self, probe: str) -> list[float]:
        """Times at which a counter of a probe without keys had fallen."""
        times: set[float] = set()
        if self._key_columns(probe):
            return []
        for column in self.columns(probe):
            if column.kind is ColumnKind.COUNTER:
                t_s, values = self._raw(probe, column, None)
                there = ~np.isnan(values)
                fell = np.flatnonzero(np.diff(values[there]) < 0)
                times.update(t_s[there][1:][fell].tolist())
        return sorted(times)

    def _key_columns(self, probe: str) -> list[str]:
        return [column.name for column in self.columns(probe) if column.kind is ColumnKind.KEY]

    def _raw(self, probe: str, column: Column, key: Key) -> tuple[Floats, Floats]:
        samples = self.samples(probe)
        names = self._key_columns(probe)
        t_s = np.array([sample.t_s for sample in samples], dtype=np.float64)
        values = np.array([_value(sample, column, key, names) for sample in samples], dtype=np.float64)
        return t_s, values

    def _cadence_s(self, probe: str, t_s: Floats) -> float:
        asked = self._probes[probe].every_s if probe in self._probes else 1.0
        usual = float(np.median(np.diff(t_s))) if t_s.size > 1 else asked
        return max(asked, usual)

    def _rates(self, probe: str, t_s: Floats, values: Floats) -> Floats:
        if t_s.size < 2:
            return np.empty(0)
        seconds = np.diff(t_s)
        change = np.diff(values)
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = change / seconds
        rates[(change < 0) | (seconds <= 0) | (seconds > _GAP * self._cadence_s(probe, t_s))] = np.nan
        return rates


def _joined(row: Mapping[str, Scalar], names: Sequence[str]) -> str:
    return "/".join(str(row.get(name)) for name in names)


def _matches(row: Mapping[str, Scalar], key: Key, names: Sequence[str]) -> bool:
    if key is None:
        return True
    if isinstance(key, str):
        return _joined(row, names) == key
    return all(str(row.get(name)) == value for name, value in key.items())


def _value(sample: Sample, column: Column, key: Key, names: Sequence[str]) -> float:
    """Sum over the rows that match. An answered question without such a row is 0 for a gauge of a probe with keys
    (nobody waits), and not known for a counter."""
    if sample.unknown:
        return float("nan")
    found = [row.get(column.name) for row in sample.rows if _matches(row, key, names)]
    if not found:
        return 0.0 if names and column.kind is ColumnKind.GAUGE else float("nan")
    numbers = [float(value) for value in found if isinstance(value, int | float)]
    return sum(numbers) if len(numbers) == len(found) else float("nan")


_COMMITS_OF_STATEMENTS = 0.01
"""Below this share of the statements, commits that are counted are not how this load commits."""


def server_throughput(store: SampleStore) -> Series | None:
    """What a server does by its own count: commits, or statements where it does not count what commits by itself; None
    when it counts neither."""
    commits, statements = store.by_role("commits"), store.by_role("statements")
    if commits is None or statements is None or not len(statements.values):
        return commits
    most = [float(np.nanmax(one.values, initial=0.0)) for one in (commits, statements)]
    return statements if most[0] < _COMMITS_OF_STATEMENTS * most[1] else commits
