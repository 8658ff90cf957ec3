"""Values as the server's option file and statements take them, and as its variables give them back.

Source: MariaDB and MySQL manuals, "Server System Variables": sizes are bytes, in option files also with K, M, G; words
are case-insensitive; a boolean is ON, OFF, 1 or 0.
"""

from __future__ import annotations

import functools
import math
import re
import tomllib
from pathlib import Path

from dbdyno.model.errors import UsageError
from dbdyno.model.knob import Assignment, Setting, Value

_SUFFIXES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([KMGT]?)(?:I?B)?", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.]*")
_TRUE = {"on", "true", "yes", "1"}
_FALSE = {"off", "false", "no", "0"}
BINLOG = "log_bin"
"""Reads back as ON or OFF, but takes a file's name, and is switched off by a name of its own."""


def number(text: str) -> float | None:
    """`75.000000`, `128M`, `-1` as a number; None for a word."""
    match = _QUANTITY.fullmatch(text.strip())
    return float(match[1]) * _SUFFIXES[match[2].upper()] if match else None


def plain(text: str) -> str:
    """A number without the zeros that the server pads it with: `75.000000` is `75`."""
    return text.rstrip("0").rstrip(".") if re.fullmatch(r"-?\d+\.\d+", text) else text


def agrees(setting: Setting, value: Value, *, step: float = 0.0) -> bool:
    """Whether a variable means what was asked for. `step`: the server rounds to multiples of it, up or down."""
    has, asked = setting.value.strip(), str(value).strip()
    if has.lower() == asked.lower():
        return True
    first, second = number(has), number(asked)
    if first is not None and second is not None:
        return math.isclose(first, second, rel_tol=1e-6) or (second > 0 and abs(first - second) < step)
    return any(has.lower() in words and asked.lower() in words for words in (_TRUE, _FALSE))


def written(value: Value) -> str:
    """A value as an option file takes it; sizes in the largest unit in which they are whole."""
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.10g}"
    if isinstance(value, int | float):
        whole = int(value)
        for suffix in ("G", "M"):
            if whole and whole % _SUFFIXES[suffix] == 0:
                return f"{whole // _SUFFIXES[suffix]}{suffix}"
        return str(whole)
    if re.search(r"[\r\n\0]", value):
        raise UsageError("A setting's value goes over several lines.", found=repr(value))
    return value


def option_lines(assignment: Assignment) -> list[str]:
    """The assignment as lines of an option file. Raises `UsageError` for what cannot be a setting's name."""
    lines: list[str] = []
    for name, value in assignment.items():
        if not _NAME.fullmatch(name):
            raise UsageError("This cannot be the name of a setting.", found=repr(name))
        if name.lower() == BINLOG:
            lines.append("skip-log-bin" if str(value).lower() in _FALSE else "log-bin = binlog")
            continue
        lines.append(f"{name} = {_quoted(written(value))}")
    return lines


def _quoted(text: str) -> str:
    """In quotes where a comment or space would cut it. Source: MySQL manual, "Using Option Files"."""
    if re.fullmatch(r"[\w.,:/=+%@-]*", text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def literal(value: Value | str) -> str:
    """A value as a statement takes it: numbers bare, words in quotes."""
    if isinstance(value, int | float):
        return f"{value:.10g}" if isinstance(value, float) and not value.is_integer() else str(int(value))
    if re.fullmatch(r"-?\d+(\.\d+)?", value):
        return value
    return quoted(value)


def quoted(text: str) -> str:
    """A string of a statement, for servers that give the backslash its special meaning (the default)."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def render(assignment: Assignment, *files: Path) -> tuple[str, list[str]]:
    """The configuration as lines of the section `[server]` of an option file, and as statements, in the assignment's
    order. What no server of the family takes while it runs, by the knob files, has a line and no statement."""
    lines = option_lines(assignment)
    waiting = {BINLOG, *(name for file in files for name in only_at_start(file))}
    statements = [f"SET GLOBAL {name} = {literal(value)};" for name, value in assignment.items() if name not in waiting]
    return "".join(line + "\n" for line in lines), statements


@functools.cache
def only_at_start(file: Path) -> frozenset[str]:
    """Settings of a knob file that need a restart in every version that has them."""
    with file.open("rb") as stream:
        rows = tomllib.load(stream).get("knob", ())
    online = {row["name"] for row in rows if row.get("change", "online") == "online"}
    # Several settings that are written as one are named with a dot.
    return frozenset(row["name"].partition(".")[0] for row in rows if row["name"] not in online)
