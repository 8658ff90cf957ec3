"""The samples of a record by column, read only as far as somebody asks for them.

A record of ten hours holds a million answers. As objects they need gigabytes; here a first pass notes where the answers
of each probe lie in the file, and a probe is decoded into arrays when one of its columns is first asked for. Rates,
resets and gaps are still made by `samples/` alone.
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec
import numpy as np

from dbdyno.model.fact import Scalar
from dbdyno.model.probe import Column, ColumnKind, Probe, Sample
from dbdyno.samples.series import Floats, Key, SampleStore

_PROBE = b'"probe":"'
_HEAD = 200
"""Bytes of a line in which time and probe stand: our own writer puts them before the rows."""
_NAME_MAX = 100
_TIME = re.compile(rb'"t_s":(-?[0-9.]+(?:[eE][-+]?[0-9]+)?)')
_NUMBERS = (int, float)
_BATCH = 4096
"""Lines that are decoded at once."""
_KEYS_MAX = 2000
"""Rows with more keys than this are left out: no question of ours has so many."""

_T = TypeVar("_T")
_Otherwise: TypeAlias = Callable[[bytes], _T | None] | None


@dataclass(frozen=True)
class _Places:
    """Where the answers of a probe lie in the file, in its order: first byte and number of bytes."""

    starts: array[int] = field(default_factory=lambda: array("q"))
    sizes: array[int] = field(default_factory=lambda: array("q"))

    def last(self) -> _Places:
        return _Places(self.starts[-1:], self.sizes[-1:])


class ColumnStore(SampleStore):
    """`SampleStore` over a file of samples. Lines that cannot be read are counted in `unreadable`."""

    def __init__(self, probes: Iterable[Probe], path: Path) -> None:
        super().__init__(probes, ())
        self._path = path
        self._places: dict[str, _Places] = {}
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
                file.seek(places.starts[-1])
                if found := _TIME.search(file.readline(), 0, 200):
                    times.append(float(found[1]))
        return max(times)

    def unknown(self) -> dict[str, str]:
        return {name: reason for name in self._places if (reason := self.reason(name))}

    def reason(self, probe: str) -> str:
        """Why the probe's last question was not answered; empty when it was, or was never asked."""
        last = list(self._decoded(probe, self._places.get(probe, _Places()).last()))
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
        found: dict[bytes, _Places] = {}
        with file:
            offset = 0
            for line in file:
                start = line.find(_PROBE, 0, _HEAD) + len(_PROBE)
                end = line.find(b'"', start, start + _NAME_MAX + 1) if start >= len(_PROBE) else -1
                if end > start:
                    name = line[start:end]
                    places = found.get(name)
                    if places is None:
                        places = found[name] = _Places()
                    places.starts.append(offset)
                    places.sizes.append(len(line))
                elif line.strip():
                    self.unreadable += 1
                offset += len(line)
        self._places = {name.decode("utf-8", "replace"): places for name, places in found.items()}

    def _decoded(self, probe: str, places: _Places | None = None) -> Iterator[Sample]:
        """All samples of a probe, or those that begin at certain places."""
        for batch in self._batches(probe, places, msgspec.json.Decoder(Sample)):
            yield from batch

    def _batches(
        self,
        probe: str,
        places: _Places | None,
        decoder: msgspec.json.Decoder[_T],
        otherwise: _Otherwise[_T] = None,
    ) -> Iterator[list[_T]]:
        """Many lines at once; where one of them is not as it should be, one by one. A line that `decoder` cannot read
        may still be read by `otherwise`."""
        wanted = self._places.get(probe, _Places()) if places is None else places
        if not wanted.starts:
            return
        with self._path.open("rb") as file:
            number = file.fileno()
            for first in range(0, len(wanted.starts), _BATCH):
                part = slice(first, first + _BATCH)
                # One by one, past all buffers: lines of a probe are far apart, and a map of the file costs twice that.
                lines = [
                    os.pread(number, size, start)
                    for start, size in zip(wanted.starts[part], wanted.sizes[part], strict=True)
                ]
                try:
                    yield decoder.decode_lines(b"".join(lines))
                except (msgspec.DecodeError, UnicodeDecodeError):
                    yield [one for line in lines if (one := self._one(line, decoder, otherwise)) is not None]

    def _one(self, line: bytes, decoder: msgspec.json.Decoder[_T], otherwise: _Otherwise[_T]) -> _T | None:
        try:
            return decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            found = otherwise(line) if otherwise is not None else None
            self.unreadable += found is None
            return found

    def _table(self, probe: str) -> _Table:
        if probe not in self._tables:
            form = _Form(self.columns(probe))
            with _without_looking_for_cycles():
                self._tables[probe] = _Table(form, self._batches(probe, None, form.decoder, form.leniently))
        return self._tables[probe]


@contextlib.contextmanager
def _without_looking_for_cycles() -> Iterator[None]:
    """Nothing that is decoded refers to itself: to look for it would take a quarter of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class _Form:
    """How a probe's answers are read: into a struct that has a field for each column, numbers as such. That takes half
    the time and a third of the memory of dictionaries."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.numbers = [one.name for one in columns if one.kind in (ColumnKind.COUNTER, ColumnKind.GAUGE)]
        self.keys = [one.name for one in columns if one.kind is ColumnKind.KEY]
        self.texts = [one.name for one in columns if one.kind is ColumnKind.TEXT]
        # A column may be named as no field can be.
        self.fields = {name: f"f{number}" for number, name in enumerate([*self.numbers, *self.keys, *self.texts])}
        self._row = msgspec.defstruct(
            "Row",
            [(field, float | None if name in self.numbers else Scalar, None) for name, field in self.fields.items()],
            rename={field: name for name, field in self.fields.items()},
            gc=False,
        )
        self.answer = msgspec.defstruct(
            "Answer",
            [("t_s", float), ("rows", list[self._row], []), ("unknown", str, "")],  # type: ignore[name-defined]
        )
        self.decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(self.answer)
        self._any = msgspec.json.Decoder(Sample)

    def leniently(self, line: bytes) -> Any:
        """A line with a word where a number belongs: that value is not known. None when it is no answer at all."""
        try:
            sample = self._any.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        rows = [
            self._row(**{field: self._value(row.get(name), name) for name, field in self.fields.items()})
            for row in sample.rows
        ]
        return self.answer(t_s=sample.t_s, rows=rows, unknown=sample.unknown)

    def _value(self, value: Scalar, name: str) -> Scalar:
        return value if name not in self.numbers or type(value) in _NUMBERS else None

    def key(self) -> Callable[[Any], str] | None:
        """What gives a row's key: its key columns with `/` between them. None without such columns."""
        fields = [self.fields[name] for name in self.keys]
        if not fields:
            return None
        get = attrgetter(*fields)
        return (lambda row: str(get(row))) if len(fields) == 1 else (lambda row: "/".join(map(str, get(row))))


class _Table:
    """The answers of one probe: an array for every column and key."""

    def __init__(self, form: _Form, batches: Iterator[list[Any]]) -> None:
        self.words: dict[str, list[tuple[float, str, Scalar]]] = {name: [] for name in form.texts}
        self._form = form
        times: list[float] = []
        silent: list[bool] = []
        self._parts: dict[tuple[str, str], list[Floats]] = {}
        places: dict[str, array[int]] = {}
        key_of = form.key()
        for batch in batches:
            answers = [one for one in batch if isfinite(one.t_s)]
            rows: dict[str, list[Any]] = defaultdict(list)
            seen = [(number, one) for number, one in enumerate(answers, len(times)) if not one.unknown]
            if key_of is None and not form.texts:
                # Most probes have neither: nothing is to be sorted out.
                if all_rows := [row for _, answer in seen for row in answer.rows]:
                    rows[""] = all_rows
                    places.setdefault("", array("q")).extend(number for number, answer in seen for _ in answer.rows)
                seen = []
            for number, answer in seen:
                for row in answer.rows:
                    key = key_of(row) if key_of else ""
                    if (found := places.get(key)) is None:
                        if len(places) >= _KEYS_MAX:
                            continue
                        found = places[key] = array("q")
                    found.append(number)
                    rows[key].append(row)
                    if form.texts:
                        self._note_words(answer.t_s, key, row)
            times += [one.t_s for one in answers]
            silent += [one.unknown != "" for one in answers]
            self._keep(rows)
        self._silent = np.array(silent, dtype=np.bool_)
        self.silent_always = bool(self._silent.all())
        written = np.array(times, dtype=np.float64)
        self._order = np.argsort(written, kind="stable")
        self.t_s: Floats = written[self._order]
        self.keys = sorted(places)
        self._places = {key: np.array(found, dtype=np.int64) for key, found in places.items()}
        self._values = {which: np.concatenate(parts) for which, parts in self._parts.items()}
        del self._parts
        for words in self.words.values():
            words.sort(key=lambda one: one[0])

    def _note_words(self, t_s: float, key: str, row: Any) -> None:
        for name in self._form.texts:
            if word := getattr(row, self._form.fields[name]):
                self.words[name].append((t_s, key, word))

    def _keep(self, rows: dict[str, list[Any]]) -> None:
        """A batch's values as arrays: objects live only as long as their batch."""
        for name in self._form.numbers:
            value = attrgetter(self._form.fields[name])
            for key, found in rows.items():
                part = np.array([*map(value, found)], dtype=np.float64)  # nothing (None) becomes not known (NaN)
                self._parts.setdefault((name, key), []).append(part)

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
