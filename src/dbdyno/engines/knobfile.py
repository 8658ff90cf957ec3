"""Reads an engine's `knobs.toml`: what may be searched, and what the durability contract watches.

Ranges are small expressions over facts of the machine (`ram`, `cores`, `disk_free`, `iops`, `connections`, all in
bytes or plain numbers), e.g. `"ram * 0.6 / 8192"`. They are parsed to a syntax tree and walked here; nothing is ever
executed, and only arithmetic, comparison, `if else`, `min`, `max` and `round` are known.
"""

from __future__ import annotations

import ast
import functools
import operator
import threading
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dbdyno.model.errors import UsageError
from dbdyno.model.knob import Assignment, Change, Guard, Knob, KnobSpace, Level, Value
from dbdyno.model.machine import Machine

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
}
_CALLS: dict[str, Callable[..., Any]] = {"min": min, "max": max, "round": round}


_PARSING = threading.Lock()


@functools.lru_cache(maxsize=4096)
def _parsed(text: str) -> ast.expr:
    # Python 3.11 counts the depth of such a tree for all threads together, and fails when two make one at a time.
    with _PARSING:
        return ast.parse(text, mode="eval").body


def evaluate(text: str, names: Mapping[str, float]) -> float:
    """The value of a small arithmetic expression. Raises `UsageError` for anything else than arithmetic."""
    try:
        return float(_walk(_parsed(text), names))
    except (SyntaxError, ZeroDivisionError, RecursionError, TypeError) as error:
        raise UsageError(f"The expression {text!r} cannot be computed.", found=str(error)) from error


def _walk(node: ast.expr, names: Mapping[str, float]) -> Any:
    value: Any
    match node:
        case ast.Constant(value=int() | float() as number):
            value = number
        case ast.Name(id=name) if name in names:
            value = names[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            value = _BINARY[type(op)](_walk(left, names), _walk(right, names))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            value = -_walk(operand, names)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            value = _walk(body, names) if _walk(test, names) else _walk(orelse, names)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
            value = _COMPARE[type(op)](_walk(left, names), _walk(right, names))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _CALLS:
            value = _CALLS[name](*(_walk(argument, names) for argument in args))
        case _:
            known = ", ".join(sorted([*names, *_CALLS]))
            raise UsageError(
                f"A range in the knob file says {ast.unparse(node)!r}, which is not arithmetic that we know.",
                todo=f"use numbers, + - * / //, comparisons, `a if b else c`, and: {known}",
            )
    return value


def facts_of(machine: Machine) -> dict[str, float]:
    """The names that expressions may use."""
    return {
        "ram": float(machine.memory_bytes),
        "cores": float(machine.cores),
        # A machine whose disk was not looked at must not end up with an empty range.
        "disk_free": float(machine.disk_bytes_free or 64 * 1024**3),
        "iops": float(machine.iops or 0.0),
        "connections": float(machine.connections),
        "dataset": float(machine.dataset_bytes or 0),
        "KiB": 1024.0,
        "MiB": 1024.0**2,
        "GiB": 1024.0**3,
    }


def load_knobs(path: Path, machine: Machine, version: int, *shared: Path) -> KnobSpace:
    """Reads a knob file, and files that several engines share, for one machine and one server version (the engine's own
    numbering).

    Raises `UsageError` that names the row when the file is wrong.
    """
    content: dict[str, Any] = {}
    for one in (path, *shared):
        with one.open("rb") as file:
            for table, rows in tomllib.load(file).items():
                if isinstance(rows, list):
                    content[table] = content.get(table, []) + rows
                else:
                    content.setdefault(table, rows)
    names = facts_of(machine)
    knobs = [_knob(row, names) for row in content.get("knob", ()) if _fits(row, version)]
    guards = [_guard(row) for row in content.get("guard", ()) if _fits(row, version)]
    twice = {knob.name for knob in knobs if sum(other.name == knob.name for other in knobs) > 1}
    if twice:
        raise UsageError(f"{path.name} has more than one row for {', '.join(sorted(twice))} at version {version}.")
    needs: dict[str, Assignment] = {}
    for row in content.get("need", ()):
        if _fits(row, version):
            needs.setdefault(row["promise"], {}).update(row["set"])
    return KnobSpace(
        knobs=tuple(knobs),
        guards=tuple(guards),
        needs=needs,
        recovery_bytes_per_s=_number(content.get("recovery", {}).get("bytes_per_s", 0.0), names),
    )


def _fits(row: Mapping[str, Any], version: int) -> bool:
    return bool(row.get("version_min", 0) <= version < row.get("version_below", 10**12))


def _number(value: Any, names: Mapping[str, float]) -> float:
    return evaluate(value, names) if isinstance(value, str) else float(value)


def _knob(row: Mapping[str, Any], names: Mapping[str, float]) -> Knob:
    name = row.get("name", "?")
    try:
        return _knob_of(row, names)
    except (KeyError, ValueError) as error:
        raise UsageError(f"The row of {name} in the knob file is wrong.", found=repr(error)) from error


def _knob_of(row: Mapping[str, Any], names: Mapping[str, float]) -> Knob:
    integer = row.get("integer", True)
    low, high = (_bound(row.get(end), names, integer) for end in ("low", "high"))
    if low is not None and high is not None and high < low:
        # A machine too small for the range keeps the knob where its lower end is.
        high = low
    default: Value = row["default"]
    return Knob(
        name=row["name"],
        title=row["title"],
        unit=row.get("unit", ""),
        low=low,
        high=high,
        integer=integer,
        log=row.get("log", False),
        choices=tuple(row.get("choices", ())),
        special=tuple(row.get("special", ())),
        default=default,
        change=Change(row.get("change", "online")),
        memory_bytes_per_unit=_number(row.get("memory_bytes_per_unit", 0.0), names),
        recovery_bytes_per_unit=_number(row.get("recovery_bytes_per_unit", 0.0), names),
        recovery_s_per_unit=_number(row.get("recovery_s_per_unit", 0.0), names),
        searched=row.get("searched", True),
        source=row["source"],
    )


def _bound(value: Any, names: Mapping[str, float], integer: bool) -> float | None:
    if value is None:
        return None
    number = _number(value, names)
    return float(int(number)) if integer else number


def _guard(row: Mapping[str, Any]) -> Guard:
    return Guard(
        setting=row["setting"],
        levels={word: Level[level] for word, level in row.get("levels", {}).items()},
        otherwise=Level[row.get("otherwise", "L3")],
        pitr=tuple(row.get("pitr", ())),
        replication=tuple(row.get("replication", ())),
        maintenance=tuple(row.get("maintenance", ())),
        instead=row.get("instead", ""),
        unless=dict(row.get("unless", {})),
        why=row.get("why", ""),
    )
