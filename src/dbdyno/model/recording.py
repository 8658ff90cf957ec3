"""A record as a diagnosis sees it: series, words, facts, stalls and events over one axis of seconds.

Whoever reads a run folder, a saved status text or an example gives a `Recording`; a diagnosis cannot tell them apart.
What was not recorded raises `MissingSeries` (or `MissingFact`), so that a diagnosis holds no error handling and a lack
of sight reads as unknown, never as healthy.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from dbdyno.model.facts import Facts, MissingFact
from dbdyno.model.record import Record

Floats = npt.NDArray[np.float64]


_EDGE_S = 1e-9
"""So that the end of a window belongs to it."""


class MissingSeries(MissingFact):
    """A diagnosis asked for a series that the record does not have, or has no value of in that window."""


class StallKind(enum.StrEnum):
    DIP = "dip"
    """Throughput fell and came back."""
    DEGRADED = "degraded"
    """Throughput fell to another level and stayed there."""


class Stall(Record, frozen=True, kw_only=True):
    """A stretch in which less was done than before and after. Times in seconds since the record's start."""

    start_s: float
    end_s: float
    usual_per_s: float
    """Level that was kept before and after (before, when it did not come back)."""
    lowest_per_s: float
    mean_per_s: float
    lost: float
    """Transactions not done that the usual level would have done."""
    kind: StallKind = StallKind.DIP

    @property
    def seconds(self) -> float:
        return self.end_s - self.start_s

    @property
    def depth(self) -> float:
        """0 (nothing lost) to 1 (nothing was done)."""
        return 1 - self.mean_per_s / self.usual_per_s if self.usual_per_s > 0 else 0.0


class Event(Record, frozen=True, kw_only=True):
    """Something that happened at a time, on any engine."""

    t_s: float
    kind: str
    """`checkpoint`, `restart`, `statistics_reset`, `unreachable`, `backup`, `clock_step`."""
    says: str = ""
    end_s: float | None = None
    """For what lasted: `t_s` is its beginning."""


@dataclass(frozen=True)
class Series:
    """Values over rising times, NaN where there is none. A counter is a rate per second, which belongs to the
    `seconds` before its time. Figures of a window without any value raise `MissingSeries`."""

    name: str
    """As in a finding: `probe.column` or `probe.column/key`."""
    t_s: Floats
    values: Floats
    unit: str = ""
    seconds: Floats = field(default_factory=lambda: np.empty(0))
    """Time that each value stands for; made from the distances when it is not given."""
    _outside: list[tuple[tuple[Stall, ...], Series]] = field(default_factory=list, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.seconds.size != self.t_s.size:
            object.__setattr__(self, "seconds", _widths(self.t_s))

    def __len__(self) -> int:
        return int(np.count_nonzero(np.isfinite(self.values)))

    def where(self, mask: npt.NDArray[np.bool_]) -> Series:
        return Series(self.name, self.t_s[mask], self.values[mask], self.unit, self.seconds[mask])

    def between(self, start_s: float, end_s: float) -> Series:
        """The part with start_s <= t <= end_s."""
        first, end = np.searchsorted(self.t_s, [start_s, end_s + _EDGE_S])
        part = slice(int(first), int(end))
        return Series(self.name, self.t_s[part], self.values[part], self.unit, self.seconds[part])

    def during(self, stall: Stall, *, slack_s: float = 0.0) -> Series:
        """The part in the stall; `slack_s` more on both sides for what is asked rarely or reported late."""
        return self.between(stall.start_s - slack_s, stall.end_s + slack_s)

    def before(self, stall: Stall, seconds: float = 60.0) -> Series:
        """What came just before the stall."""
        return self.between(stall.start_s - seconds, stall.start_s)

    def outside(self, stalls: tuple[Stall, ...]) -> Series:
        """The part in none of the stalls: how it usually is. Remembered, for every stall is held against it."""
        # By identity: to compare hundreds of stalls would cost more than the answer.
        if not self._outside or self._outside[0][0] is not stalls:
            mask = np.ones(self.t_s.size, dtype=np.bool_)
            for stall in stalls:
                first, end = np.searchsorted(self.t_s, [stall.start_s, stall.end_s + _EDGE_S])
                mask[first:end] = False
            self._outside[:] = [(stalls, self.where(mask))]
        return self._outside[0][1]

    def mean(self) -> float:
        return float(self._there().mean())

    def median(self) -> float:
        return float(np.median(self._there()))

    def max(self) -> float:
        return float(self._there().max())

    def min(self) -> float:
        return float(self._there().min())

    def quantile(self, share: float) -> float:
        return float(np.quantile(self._there(), share))

    def first(self) -> float:
        return float(self._there()[0])

    def last(self) -> float:
        return float(self._there()[-1])

    def rise(self) -> float:
        """Last value less the first: how much a gauge grew."""
        there = self._there()
        return float(there[-1] - there[0])

    def total(self) -> float:
        """Rates summed over their time: how much a counter rose."""
        self._there()
        return float(np.nansum(self.values * self.seconds))

    def share_above(self, limit: float) -> float:
        """Share of the values above the limit, 0 to 1."""
        return float((self._there() > limit).mean())

    def peak_s(self) -> float:
        """Time of the largest value."""
        self._there()
        return float(self.t_s[int(np.nanargmax(self.values))])

    def _there(self) -> Floats:
        found: Floats = self.values[np.isfinite(self.values)]
        if not found.size:
            raise MissingSeries(self.name, "no value in that stretch of the record")
        return found


class Recording(Protocol):
    """One record. Engines and hosts ask by probe and column, everybody may ask by role."""

    duration_s: float
    facts: Facts
    """Of the server (`server.*`, `setting.*`) and the machine (`host.*`)."""
    stalls: tuple[Stall, ...]
    events: tuple[Event, ...]
    throughput: Series
    """Transactions per second: the driver's, or the server's own commits; empty when neither is known."""

    def series(self, probe: str, column: str, key: str | None = None) -> Series:
        """Counters as rates per second, gauges as they are; None sums all keys. Raises `MissingSeries`."""
        ...

    def role(self, role: str, key: str | None = None) -> Series:
        """The same by what the column means (docs/reference/probes.md). Raises `MissingSeries`."""
        ...

    def keys(self, probe: str) -> list[str]:
        """Keys of the rows that occurred, joined with `/`; none for a probe without keys or answers."""
        ...

    def texts(self, probe: str, column: str, key: str | None = None) -> list[tuple[float, str]]:
        """Times and words of a column, empty words left out. Raises `MissingSeries` when the probe was not answered."""
        ...


class MemoryRecording:
    """A recording from values at hand: a saved text, or the example of a diagnosis."""

    def __init__(
        self,
        *,
        duration_s: float = 0.0,
        facts: Facts | None = None,
        stalls: Sequence[Stall] = (),
        events: Sequence[Event] = (),
        throughput: Series | None = None,
    ) -> None:
        self.duration_s = duration_s
        self.facts = facts or Facts(())
        self.stalls = tuple(stalls)
        self.events = tuple(events)
        self.throughput = throughput or Series("throughput", np.empty(0), np.empty(0), "1/s")
        self._series: dict[tuple[str, str], dict[str | None, Series]] = {}
        self._texts: dict[tuple[str, str], dict[str | None, list[tuple[float, str]]]] = {}
        self._roles: dict[str, tuple[str, str]] = {}

    def add(self, name: str, t_s: Iterable[float], values: Iterable[float], *, unit: str = "", role: str = "") -> None:
        """`name` is `probe.column` or `probe.column/key`. Counters come as rates per second."""
        probe, column, key = _parts(name)
        times, numbers = np.array(list(t_s), dtype=np.float64), np.array(list(values), dtype=np.float64)
        assert times.size == numbers.size
        self._series.setdefault((probe, column), {})[key] = Series(name, times, numbers, unit)
        if role:
            self._roles[role] = (probe, column)

    def add_texts(self, name: str, words: Iterable[tuple[float, str]]) -> None:
        probe, column, key = _parts(name)
        self._texts.setdefault((probe, column), {})[key] = list(words)

    def drop(self, name: str) -> None:
        """Forgets a series, as if it had not been recorded."""
        probe, column, key = _parts(name)
        self._series.get((probe, column), {}).pop(key, None)
        self._texts.get((probe, column), {}).pop(key, None)

    def names(self) -> list[str]:
        """All series and words, as `add` takes them."""
        numbers = {_name(*where, key) for where, keys in self._series.items() for key in keys}
        words = {_name(*where, key) for where, keys in self._texts.items() for key in keys}
        return sorted(numbers | words)

    def series(self, probe: str, column: str, key: str | None = None) -> Series:
        found = self._series.get((probe, column), {})
        name = _name(probe, column, key)
        if not found:
            raise MissingSeries(name, "not recorded")
        if key in found:
            return found[key]
        first = next(iter(found.values()))
        if key is not None:
            # The probe was answered without such a row: nobody waited for it.
            return Series(name, first.t_s, np.zeros(first.t_s.size), first.unit)
        return Series(name, first.t_s, np.sum([one.values for one in found.values()], axis=0), first.unit)

    def role(self, role: str, key: str | None = None) -> Series:
        if role not in self._roles:
            raise MissingSeries(role, "no probe of the record has this role")
        return self.series(*self._roles[role], key)

    def keys(self, probe: str) -> list[str]:
        return sorted({key for (name, _), keys in self._series.items() if name == probe for key in keys if key})

    def texts(self, probe: str, column: str, key: str | None = None) -> list[tuple[float, str]]:
        found = self._texts.get((probe, column))
        if not found:
            raise MissingSeries(_name(probe, column, key), "not recorded")
        lists = [words for name, words in found.items() if key in (None, name)]
        return sorted((one for words in lists for one in words if one[1]), key=lambda one: one[0])


def rise_per_s(before: float | None, after: float | None, seconds: float) -> float | None:
    """How fast a counter rose; None where that is not known: it was not read, or it fell, for a server that was started
    anew counts from 0."""
    return None if before is None or after is None or after < before else (after - before) / seconds


def _widths(t_s: Floats) -> Floats:
    if t_s.size < 2:
        return np.ones(t_s.size)
    gaps = np.diff(t_s)
    return np.concatenate([[float(np.median(gaps))], gaps])


def _parts(name: str) -> tuple[str, str, str | None]:
    probe, _, rest = name.partition(".")
    column, slash, key = rest.partition("/")
    return probe, column, key if slash else None


def _name(probe: str, column: str, key: str | None) -> str:
    return f"{probe}.{column}" + (f"/{key}" if key is not None else "")
