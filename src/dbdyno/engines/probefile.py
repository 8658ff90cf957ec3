"""Reads probe files: a query under a header of comments (docs/reference/probes.md).

Several files may answer to one probe's name, each from some server version on. The newest that fits wins, so a query
never branches on versions and an old server keeps the query that was tested on it.

An answer is a table with the columns of the header, unless the header says how it becomes one (`shape`).
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dbdyno.model.errors import TargetError, UsageError
from dbdyno.model.fact import Scalar
from dbdyno.model.probe import Column, ColumnKind, Probe

_FIELD = re.compile(r"^(?P<field>[a-z_]+):\s*(?P<value>.*)$")
_COLUMN = re.compile(
    r"^(?P<name>[a-z][a-z0-9_]*):\s*(?P<kind>[a-z]+)"
    r"(?:\s+\[(?P<unit>[^\]]+)\])?(?:\s+role:(?P<role>[a-z0-9_]+))?\s+-\s+(?P<help>\S.*)$"
)
_NUMBERS = {"version_min": int, "version_below": int, "every_s": float, "timeout_s": float}
_WORDS = {"name", "title", "privilege", "cost", "shape", "optional"}
_SHAPE = re.compile(r"rows|pivot|parse:[a-z_][a-z0-9_.]*\.[a-z_][a-z0-9_]*")
_COLUMNS = "$columns"
"""In a query: the names of the header's columns as quoted words, for tables that hold a counter in each row."""
_REQUIRED = ("name", "title", "version_min", "cost")


def load_probes(folder: Path, version: int, *shared: Path) -> list[Probe]:
    """The probes of a folder, and of folders that several engines share, for a server of that version, by name.

    Raises `UsageError` that names file and line.
    """
    newest: dict[str, tuple[Probe, Path]] = {}
    for path in [path for one in (*shared, folder) for path in sorted(one.glob("*.sql"))]:
        probe = parse_probe(path.read_text(encoding="utf-8"), where=str(path))
        if path.name != f"{probe.name}.{probe.version_min}.sql":
            raise UsageError(
                f"{path}: the file's name does not fit its header.",
                found=f"name {probe.name!r}, version_min {probe.version_min}",
                todo=f"call it {probe.name}.{probe.version_min}.sql",
            )
        known = newest.get(probe.name, (None, path))[0]
        fits = probe.version_min <= version and not 0 < probe.version_below <= version
        if fits and (known is None or known.version_min < probe.version_min):
            newest[probe.name] = probe, path
    probes = [_in_package(*newest[name]) for name in sorted(newest)]
    _require_unique_roles(folder, probes)
    return probes


def _in_package(probe: Probe, path: Path) -> Probe:
    """The probe with the whole name of the function that reads its answer, which its file gives from the package that
    the folder of probes stands in."""
    if not probe.shape.startswith("parse:"):
        return probe
    package = ".".join((*__package__.split("."), path.parent.parent.name))
    fields = {name: getattr(probe, name) for name in Probe.__struct_fields__}
    return Probe(**{**fields, "shape": f"parse:{package}.{probe.shape.removeprefix('parse:')}"})


def parse_probe(text: str, *, where: str) -> Probe:
    """One probe file. `where` is the file's name for messages. Raises `UsageError` that names the line."""
    fields: dict[str, Any] = {}
    columns: list[Column] = []
    lines = text.splitlines()
    in_columns = False
    body = 0
    for number, line in enumerate(lines, start=1):
        if not line.startswith("--"):
            break
        body = number
        content = line.removeprefix("--").strip()
        if not content:
            continue
        if in_columns:
            columns.append(_parse_column(content, columns, f"{where}:{number}"))
        elif content == "columns:":
            in_columns = True
        else:
            name, value = _parse_field(content, fields, f"{where}:{number}")
            fields[name] = value
    missing = [name for name in _REQUIRED if name not in fields] + ([] if columns else ["columns"])
    if missing:
        raise _bad(
            f"{where}:1", f"the header lacks {', '.join(missing)}", "a probe file begins with lines `-- name: …`"
        )
    query = "\n".join(lines[body:]).strip().rstrip(";").strip()
    if not query:
        raise _bad(f"{where}:{body + 1}", "there is no query under the header", "write one SELECT")
    query = query.replace(_COLUMNS, ", ".join(f"'{column.name}'" for column in columns))
    return Probe(columns=tuple(columns), query=query, **fields)


def _parse_field(content: str, fields: dict[str, Any], at: str) -> tuple[str, Any]:
    found = _FIELD.match(content)
    if found is None or found["field"] not in _WORDS | _NUMBERS.keys():
        known = ", ".join(sorted(_WORDS | _NUMBERS.keys()))
        raise _bad(at, f"not a field of the header: {content!r}", f"use one of {known}, columns")
    name, value = found["field"], found["value"].strip()
    if name in fields:
        raise _bad(at, f"the field {name} is given twice", "keep one")
    if name == "shape" and not _SHAPE.fullmatch(value):
        raise _bad(at, f"unknown shape: {value!r}", "use rows, pivot or parse:<module>.<function>")
    if name == "optional":
        if value not in ("yes", "no"):
            raise _bad(at, f"optional is neither yes nor no: {value!r}", "write yes, or leave it out")
        return name, value == "yes"
    if name not in _NUMBERS:
        return name, value
    try:
        number = _NUMBERS[name](value)
    except ValueError:
        raise _bad(at, f"{name} is not a number: {value!r}", "give a number") from None
    if number < 0 or (name not in ("version_min", "version_below") and number <= 0):
        raise _bad(at, f"{name} is out of range: {value}", "give a positive number")
    return name, number


def shaped(probe: Probe, names: Sequence[str], rows: Sequence[Sequence[Scalar]]) -> tuple[dict[str, Scalar], ...]:
    """What a server answered, as rows with the columns of the header; what the header does not name is dropped.

    `rows` keeps the rows; `pivot` makes one row of names and values (the first two columns); `parse` gives the last
    column of all rows, joined by newlines, to a function. A column that the server does not know is absent, never 0.
    Raises `TargetError` when nothing at all of a pivot or a text could be read.
    """
    if probe.shape == "pivot":
        pairs = {_column_name(str(row[0])): row[1] for row in rows}
        return (_required(probe, _columns_of(probe, pairs)),)
    if probe.shape.startswith("parse:"):
        module, _, function = probe.shape.removeprefix("parse:").rpartition(".")
        read = getattr(importlib.import_module(module), function)
        found = read("\n".join(str(row[-1]) for row in rows))
        return (_required(probe, _columns_of(probe, found)),)
    lower = [_column_name(name) for name in names]
    return tuple(_columns_of(probe, dict(zip(lower, row, strict=True))) for row in rows)


def _column_name(name: str) -> str:
    return re.sub(r"[^a-z0-9_]", "_", name.lower())


def _columns_of(probe: Probe, found: dict[str, Scalar]) -> dict[str, Scalar]:
    return {
        column.name: _number_of(found[column.name]) if column.kind in _NUMERIC else found[column.name]
        for column in probe.columns
        if column.name in found
    }


_NUMERIC = (ColumnKind.COUNTER, ColumnKind.GAUGE)
_SWITCHES = {"on": 1, "yes": 1, "off": 0, "no": 0}


def _number_of(value: Scalar) -> Scalar:
    """Some servers give numbers as texts; what is no number is unknown."""
    if not isinstance(value, str):
        return value
    word = value.strip()
    if word.lstrip("+-").isdigit():
        # Not through a float: counters may have more digits than that holds.
        return int(word)
    try:
        return float(word)
    except ValueError:
        return _SWITCHES.get(word.lower())


def _required(probe: Probe, row: dict[str, Scalar]) -> dict[str, Scalar]:
    if all(value is None for value in row.values()):
        raise TargetError(
            f"The server's answer holds nothing that probe {probe.name} asks for.",
            found=f"none of {', '.join(column.name for column in probe.columns)}",
        )
    return row


def _parse_column(content: str, columns: list[Column], at: str) -> Column:
    found = _COLUMN.match(content)
    if found is None:
        raise _bad(at, f"not a column: {content!r}", "write `name: counter|gauge|key|text [unit] role:word - help`")
    if found["kind"] not in list(ColumnKind):
        raise _bad(at, f"unknown kind of column: {found['kind']!r}", f"use one of {', '.join(ColumnKind)}")
    if any(column.name == found["name"] for column in columns):
        raise _bad(at, f"the column {found['name']} is given twice", "keep one")
    return Column(
        name=found["name"],
        kind=ColumnKind(found["kind"]),
        unit=found["unit"] or "",
        role=found["role"] or "",
        help=found["help"],
    )


def _require_unique_roles(folder: Path, probes: list[Probe]) -> None:
    seen: dict[str, str] = {}
    for probe in probes:
        for column in probe.columns:
            if not column.role:
                continue
            here = f"{probe.name}.{column.name}"
            if column.role in seen:
                raise UsageError(
                    f"{folder}: two columns have the role {column.role!r}.", found=f"{seen[column.role]} and {here}"
                )
            seen[column.role] = here


def _bad(at: str, what: str, todo: str) -> UsageError:
    return UsageError(f"{at}: {what}.", todo=todo)
