"""The samples of a record by column, read only as far as somebody asks for them.

A record of ten hours holds a million answers. As objects they need gigabytes; here a first pass notes where the answers
of each probe lie in the file, and a probe is decoded into arrays when one of its columns is first asked for. Rates,
resets and gaps are still made by `samples/` alone.
"""

from __future__ import annotations

import io
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from dbdyno.model.fact import Scalar
from dbdyno.model.probe import Column, ColumnKind, Probe, Sample
from dbdyno.samples.series import Floats, Key, SampleStore

_PROBE = re.compile(rb'"probe":"([^"\\]{1,100})"')
_TIME = re.compile(rb'"t_s":(-?[0-9.]+(?:[eE][-+]?[0-9]+)?)')
_NUMBERS = (int, float)
_KEYS_MAX = 2000
"""Rows with more keys than this are left out: no question of ours has so many."""


class ColumnStore(SampleStore):
    """`SampleStore` over a file of samples. Lines that cannot be read are counted in `unreadable`."""

    def __init__(self, probes: Iterable[Probe], path: Path) -> None:
        super().__init__(probes, ())
        self._path = path
        self._places: dict[str, array[int]] = {}
        self._tables: dict[str, _Table] = {}
        self.unreadable = 0
        self._find_places()

    def probes(self) -> list[str]:
        return [name for name in self._probes if self._table(name).answered]

    def samples(self, probe: str) -> Sequence[Sample]:
        return list(self._decoded(probe))

    def keys(self, probe: str) -> list[str]:
        return sorted(self._table(probe).keys) if self._key_columns(probe) else []

    def texts(self, probe: str, column: str, key: Key = None) -> list[tuple[float, Scalar]]:
        return [(t_s, word) for t_s, row, word in self._table(probe).words.get(column, ()) if key in (None, row)]

    def samples_known(self, probe: str) -> bool:
        """Whether the probe was answered, if only by "nothing there"."""
        table = self._table(probe)
        return bool(len(table.t_s)) and not table.silent_always

    def last_s(self) -> float:
        """Time of the last sample in the file."""
        times = [0.0]
        with self._path.open("rb") if self._path.exists() else io.BytesIO() as file:
            for places in self._places.values():
                file.seek(places[-1])
                if found := _TIME.search(file.readline(), 0, 200):
                    times.append(float(found[1]))
        return max(times)

    def unknown(self) -> dict[str, str]:
        return {name: self._table(name).reason for name in self._places if self._table(name).reason}

    def _raw(self, probe: str, column: Column, key: Key) -> tuple[Floats, Floats]:
        table = self._table(probe)
        names = self._key_columns(probe)
        assert key is None or isinstance(key, str) or len(key) == len(names)
        wanted = "/".join(str(key.get(name)) for name in names) if isinstance(key, Mapping) else key
        return table.t_s, table.values(column, wanted, keyed=bool(names))

    def _find_places(self) -> None:
        try:
            file = self._path.open("rb")
        except FileNotFoundError:
            return
        with file:
            offset = 0
            for line in file:
                # Our own writer puts the time before the probe, and rows after both.
                found = _PROBE.search(line, 0, 200)
                if found is not None:
                    self._places.setdefault(found[1].decode("utf-8", "replace"), array("q")).append(offset)
                elif line.strip():
                    self.unreadable += 1
                offset += len(line)

    def _decoded(self, probe: str) -> Iterator[Sample]:
        decoder = msgspec.json.Decoder(Sample)
        if probe not in self._places:
            return
        with self._path.open("rb") as file:
            for offset in self._places[probe]:
                file.seek(offset)
                try:
                    sample = decoder.decode(file.readline())
                except (msgspec.DecodeError, UnicodeDecodeError):
                    self.unreadable += 1
                    continue
                if np.isfinite(sample.t_s):
                    yield sample

    def _table(self, probe: str) -> _Table:
        if probe not in self._tables:
            self._tables[probe] = _Table(self.columns(probe), self._decoded(probe))
        return self._tables[probe]


class _Table:
    """The answers of one probe: an array for every column and key."""

    def __init__(self, columns: Sequence[Column], samples: Iterator[Sample]) -> None:
        self._names = [column.name for column in columns if column.kind is ColumnKind.KEY]
        self._numbers = [column.name for column in columns if column.kind in (ColumnKind.COUNTER, ColumnKind.GAUGE)]
        self._texts = [column.name for column in columns if column.kind is ColumnKind.TEXT]
        self.keys: set[str] = set()
        self.words: dict[str, list[tuple[float, str, Scalar]]] = {name: [] for name in self._texts}
        self.reason = ""
        self.answered = False
        self._places: dict[tuple[str, str], array[int]] = {}
        self._values: dict[tuple[str, str], array[float]] = {}
        times, silent = array("d"), array("b")
        for sample in samples:
            self._take(sample, len(times))
            times.append(sample.t_s)
            silent.append(bool(sample.unknown))
        written = np.array(times, dtype=np.float64)
        self._order = np.argsort(written, kind="stable")
        self.t_s: Floats = written[self._order]
        self._silent = np.array(silent, dtype=np.bool_)
        self.silent_always = bool(self._silent.all())
        for found in self.words.values():
            found.sort(key=lambda one: one[0])

    def _take(self, sample: Sample, place: int) -> None:
        self.reason = sample.unknown
        if sample.unknown:
            return
        self.answered = self.answered or bool(sample.rows)
        for row in sample.rows:
            key = "/".join(str(row.get(name)) for name in self._names)
            if key not in self.keys:
                if len(self.keys) >= _KEYS_MAX:
                    continue
                self.keys.add(key)
                for name in self._numbers:
                    self._places[name, key] = array("q")
                    self._values[name, key] = array("d")
            for name in self._numbers:
                value = row.get(name)
                self._places[name, key].append(place)
                self._values[name, key].append(value if isinstance(value, _NUMBERS) else float("nan"))
            for name in self._texts:
                if row.get(name):
                    self.words[name].append((sample.t_s, key, row[name]))

    def values(self, column: Column, key: str | None, *, keyed: bool) -> Floats:
        """Summed over keys (None) or of one. An answered question without such a row is 0 for a gauge of a probe with
        keys, and not known for a counter."""
        total = np.zeros(len(self.t_s))
        seen = np.zeros(len(self.t_s), dtype=np.bool_)
        for one in self.keys if key is None else self.keys & {key}:
            if (column.name, one) in self._places:
                places = np.frombuffer(self._places[column.name, one], dtype=np.int64)
                values = np.frombuffer(self._values[column.name, one], dtype=np.float64)
                total += np.bincount(places, values, minlength=len(total))
                seen[places] = True
        if not (keyed and column.kind is ColumnKind.GAUGE):
            total[~seen] = np.nan
        total[self._silent] = np.nan
        ordered: Floats = total[self._order]
        return ordered
