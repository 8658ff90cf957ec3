"""Values with units, as the server's configuration takes them and as `pg_settings` gives them back.

Source: PostgreSQL manual, "Setting Parameters" (parameter names and values): memory units are multiples of 1024, time
units run from us to d; a number without a unit is in the parameter's own base unit.
"""

from __future__ import annotations

import math
import re

from dbdyno.engines.postgresql.formulas import render
from dbdyno.model.knob import Assignment, Setting, Value

_MEMORY = {"B": 1, "kB": 1024, "MB": 1024**2, "GB": 1024**3, "TB": 1024**4}
_TIME = {"us": 1, "ms": 1000, "s": 1_000_000, "min": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}
_QUANTITY = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-z]*)\s*")
_LINE = re.compile(r"^\s*([A-Za-z_][\w.]*)\s*=\s*(.*?)\s*$")
_TRUE = {"on", "true", "yes", "1"}
_FALSE = {"off", "false", "no", "0"}


def literals(assignment: Assignment) -> dict[str, str]:
    """Each value as the configuration takes it: with its unit, without quotes."""
    found: dict[str, str] = {}
    for line in render(assignment)[0].splitlines() if assignment else ():
        if (match := _LINE.match(line)) and not line.lstrip().startswith("#"):
            found[match[1]] = _unquoted(match[2])
    return found


def _unquoted(text: str) -> str:
    if text.startswith("'"):
        inner = re.match(r"'((?:[^']|'')*)'", text)
        return (inner[1] if inner else text).replace("''", "'")
    return text.partition("#")[0].strip()


def in_base(text: str, base: str) -> float | None:
    """The number that `text` is in the unit `base` (`8kB`, `ms`, empty); None when it is not a quantity in it."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    number, unit = float(match[1]), match[2]
    if not unit:
        return number
    base_match = re.fullmatch(r"(\d*)([A-Za-z]+)", base)
    if base_match is None:
        return None
    for table in (_MEMORY, _TIME):
        if unit in table and base_match[2] in table:
            return number * table[unit] / (table[base_match[2]] * int(base_match[1] or 1))
    return None


def same(setting: Setting, literal: str) -> bool:
    """Whether what the server reads back means what was asked for; numbers may be rounded to the base unit."""
    if setting.value == literal or setting.value.lower() == literal.lower():
        return True
    has, asked = in_base(setting.value, setting.unit), in_base(literal, setting.unit)
    if has is not None and asked is not None:
        if asked in (-1, 0) or has in (-1, 0):
            # Special values: only they themselves mean the same (a small number may still round to zero).
            return has == asked
        whole = has.is_integer() and abs(has - asked) <= 0.5
        return math.isclose(has, asked, rel_tol=1e-6) or whole
    return any(setting.value.lower() in words and literal.lower() in words for words in (_TRUE, _FALSE))


_SYNONYMS = {("wal_compression", "on"): "pglz"}
"""Words that the server reads back as other ones."""


def agrees(setting: Setting, value: Value) -> bool:
    """`Session.agrees`: the value is in the knob's own unit. A setting that was asked to choose for itself (-1) reads
    back as what it chose."""
    if value == -1 and setting.source == "override":
        return True
    literal = literals({setting.name: value})[setting.name]
    return same(setting, literal) or _SYNONYMS.get((setting.name, literal.lower())) == setting.value
