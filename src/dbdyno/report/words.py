"""Names, facts and commands as people read them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence

from dbdyno.model.fact import Fact, Scalar
from dbdyno.model.plan import WorkloadSpec
from dbdyno.report import figures
from dbdyno.report.shapes import Row

SETTING_PREFIXES = ("setting.",)
_UNIT = re.compile(r"^(\d*)(B|kB|MB|GB|TB|us|ms|s|min|h|d)$")
_BYTES = {"B": 1, "kB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def workload_words(workload: WorkloadSpec | None) -> str:
    """`tpcc, scale 10`; the TPC-C-like one says that it is no audited result."""
    if workload is None:
        return "no load"
    options = ", ".join(f"{name}={value}" for name, value in workload.options.items())
    return f"{workload.name}, scale {workload.scale}" + (f", {options}" if options else "")


def shell(command: Sequence[str]) -> str:
    """A command line that can be pasted."""
    return shlex.join(command)


def scalar(value: Scalar, unit: str = "") -> str:
    """A fact's value; whole numbers stay exact."""
    if value is None:
        return figures.NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if unit in ("bytes", "B") and isinstance(value, int | float):
        return figures.size(float(value))
    if isinstance(value, int):
        return figures.grouped(value) + (f"{figures.HARD}{unit}" if unit else "")
    if isinstance(value, float):
        return figures.quantity(value, unit)
    return f"{value}{figures.HARD}{unit}" if unit else value


def setting_words(value: str, unit: str) -> str:
    """A setting in the server's base unit (`16384`, `8kB`) as a size or a time; others as they are."""
    found = _UNIT.match(unit)
    try:
        count = float(value)
    except ValueError:
        return f"{value} {unit}".strip()
    if found is None or count < 0:
        # A negative number switches something off or leaves it to the server; it is no size.
        return value if found else f"{value} {unit}".strip()
    whole = count * float(found[1] or 1)
    name = found[2]
    return figures.size(whole * _BYTES[name]) if name in _BYTES else figures.seconds(whole * _SECONDS[name])


def row_of(fact: Fact) -> Row:
    if fact.name.endswith("version") and not fact.unknown:
        return Row(name=fact.name, value=str(fact.value), source=fact.source)
    unit = fact.unit or ("bytes" if fact.name.endswith("_bytes") else "")
    return Row(
        name=fact.name,
        value="" if fact.unknown else scalar(fact.value, unit),
        unknown=fact.unknown,
        source=fact.source,
    )


def is_setting(fact: Fact) -> bool:
    return fact.name.startswith(SETTING_PREFIXES)


def environment_rows(facts: Iterable[Fact]) -> list[Row]:
    """Machine and server; settings are listed apart."""
    return [row_of(fact) for fact in facts if not is_setting(fact)]


def setting_rows(facts: Iterable[Fact]) -> list[Row]:
    """Settings under their own names."""
    rows = []
    for fact in facts:
        if not is_setting(fact):
            continue
        prefix = next(one for one in SETTING_PREFIXES if fact.name.startswith(one))
        shown = "" if fact.unknown else setting_words(str(fact.value), fact.unit)
        rows.append(Row(name=fact.name[len(prefix) :], value=shown, unknown=fact.unknown, source=fact.source))
    return rows
