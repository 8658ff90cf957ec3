"""Reads probe files: a query under a header of comments (docs/reference/probes.md).

Several files may answer to one probe's name, each from some server version on. The newest that fits wins, so a query
never branches on versions and an old server keeps the query that was tested on it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from dbdyno.model.errors import UsageError
from dbdyno.model.probe import Column, ColumnKind, Probe

_FIELD = re.compile(r"^(?P<field>[a-z_]+):\s*(?P<value>.*)$")
_COLUMN = re.compile(
    r"^(?P<name>[a-z][a-z0-9_]*):\s*(?P<kind>[a-z]+)"
    r"(?:\s+\[(?P<unit>[^\]]+)\])?(?:\s+role:(?P<role>[a-z0-9_]+))?\s+-\s+(?P<help>\S.*)$"
)
_NUMBERS = {"version_min": int, "every_s": float, "timeout_s": float}
_WORDS = {"name", "title", "privilege", "cost"}
_REQUIRED = ("name", "title", "version_min", "cost")


def load_probes(folder: Path, version: int) -> list[Probe]:
    """The probes of a folder for a server of that version, by name. Raises `UsageError` that names file and line."""
    newest: dict[str, Probe] = {}
    for path in sorted(folder.glob("*.sql")):
        probe = parse_probe(path.read_text(encoding="utf-8"), where=str(path))
        if path.name != f"{probe.name}.{probe.version_min}.sql":
            raise UsageError(
                f"{path}: the file's name does not fit its header.",
                found=f"name {probe.name!r}, version_min {probe.version_min}",
                todo=f"call it {probe.name}.{probe.version_min}.sql",
            )
        known = newest.get(probe.name)
        if probe.version_min <= version and (known is None or known.version_min < probe.version_min):
            newest[probe.name] = probe
    probes = [newest[name] for name in sorted(newest)]
    _require_unique_roles(folder, probes)
    return probes


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
    return Probe(columns=tuple(columns), query=query, **fields)


def _parse_field(content: str, fields: dict[str, Any], at: str) -> tuple[str, Any]:
    found = _FIELD.match(content)
    if found is None or found["field"] not in _WORDS | _NUMBERS.keys():
        known = ", ".join(sorted(_WORDS | _NUMBERS.keys()))
        raise _bad(at, f"not a field of the header: {content!r}", f"use one of {known}, columns")
    name, value = found["field"], found["value"].strip()
    if name in fields:
        raise _bad(at, f"the field {name} is given twice", "keep one")
    if name not in _NUMBERS:
        return name, value
    try:
        number = _NUMBERS[name](value)
    except ValueError:
        raise _bad(at, f"{name} is not a number: {value!r}", "give a number") from None
    if number < 0 or (name != "version_min" and number <= 0):
        raise _bad(at, f"{name} is out of range: {value}", "give a positive number")
    return name, number


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
