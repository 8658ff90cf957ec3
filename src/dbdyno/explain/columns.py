"""The samples of a record by column, read only as far as somebody asks for them.

A record of ten hours holds a million answers. As objects they need gigabytes; here a first pass notes where the answers
of each probe lie in the file, and a probe is decoded into arrays when one of its columns is first asked for. Rates,
resets and gaps are still made by `samples/` alone.
"""

from __future__ import annotations

import io
import mmap
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
        return [name for name in self._probes if self._table(name).keys]

    def samples(self, probe: str) -> Sequence[Sample]:
        return list(self._decoded(probe))

    def keys(self, probe: str) -> list[str]:
        return list(self._table(probe).keys) if self._key_columns(probe) else []

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
        return {name: reason for name in self._places if (reason := self.reason(name))}

    def reason(self, probe: str) -> str:
        """Why the probe's last question was not answered; empty when it was, or was never asked."""
        last = list(self._decoded(probe, self._places.get(probe, array("q"))[-1:]))
        return last[0].unknown if last else ""

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

    def _decoded(self, probe: str, places: array[int] | None = None) -> Iterator[Sample]:
        """All samples of a probe, or those that begin at certain places."""
        decoder = msgspec.json.Decoder(Sample)
        wanted = self._places.get(probe, array("q")) if places is None else places
        if not wanted:
            return
        with self._path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
            for offset in wanted:
                end = whole.find(b"\n", offset)
                try:
                    sample = decoder.decode(whole[offset : end if end >= 0 else len(whole)])
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
        texts = [column.name for column in columns if column.kind is ColumnKind.TEXT]
        self.words: dict[str, list[tuple[float, str, Scalar]]] = {name: [] for name in texts}
        times: list[float] = []
        silent: list[bool] = []
        places: dict[str, list[int]] = {}
        rows: dict[str, list[dict[str, Scalar]]] = {}
        for sample in samples:
            for row in sample.rows if not sample.unknown else ():
                key = "/".join([str(row.get(name)) for name in self._names])
                if key not in rows:
                    if len(rows) >= _KEYS_MAX:
                        continue
                    places[key], rows[key] = [], []
                places[key].append(len(times))
                rows[key].append(row)
                for name in texts:
                    if row.get(name):
                        self.words[name].append((sample.t_s, key, row[name]))
            times.append(sample.t_s)
            silent.append(bool(sample.unknown))
        self._silent = np.array(silent, dtype=np.bool_)
        self.silent_always = bool(self._silent.all())
        written = np.array(times, dtype=np.float64)
        self._order = np.argsort(written, kind="stable")
        self.t_s: Floats = written[self._order]
        self.keys = sorted(rows)
        self._places = {key: np.array(found, dtype=np.int64) for key, found in places.items()}
        numbers = [column.name for column in columns if column.kind in (ColumnKind.COUNTER, ColumnKind.GAUGE)]
        self._values = {(name, key): _floats([row.get(name) for row in rows[key]]) for name in numbers for key in rows}
        for found in self.words.values():
            found.sort(key=lambda one: one[0])

    def values(self, column: Column, key: str | None, *, keyed: bool) -> Floats:
        """Summed over keys (None) or of one. An answered question without such a row is 0 for a gauge of a probe with
        keys, and not known for a counter."""
        total = np.zeros(len(self.t_s))
        seen = np.zeros(len(self.t_s), dtype=np.bool_)
        for one in self.keys if key is None else {key} & set(self.keys):
            if (column.name, one) in self._values:
                total += np.bincount(self._places[one], self._values[column.name, one], minlength=len(total))
                seen[self._places[one]] = True
        if not (keyed and column.kind is ColumnKind.GAUGE):
            total[~seen] = np.nan
        total[self._silent] = np.nan
        ordered: Floats = total[self._order]
        return ordered


def _floats(values: list[Scalar]) -> Floats:
    """Numbers; what is none (a word, nothing) is not known."""
    if all(type(value) in _NUMBERS for value in values):
        return np.array(values, dtype=np.float64)
    return np.array([value if type(value) in _NUMBERS else np.nan for value in values], dtype=np.float64)
