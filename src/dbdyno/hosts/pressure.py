"""Pressure stall information: how long tasks were held up for want of a resource.

Source: /proc/pressure/* (the kernel's Documentation/accounting/psi.rst). `some`: at least one task waited; `full`: all
that were not idle waited.
"""

from __future__ import annotations

from pathlib import Path

from dbdyno.hosts.registry import Rows, Watch
from dbdyno.model.probe import Column, ColumnKind, Probe

_RESOURCES = ("cpu", "io", "memory")
_KINDS = {"some": "at least one task waited", "full": "all busy tasks waited"}

PROBE = Probe(
    name="pressure",
    title="Pressure stalls",
    cost="three files",
    columns=tuple(
        Column(
            name=f"{resource}_{kind}_us",
            kind=ColumnKind.COUNTER,
            unit="us",
            help=f"time in which {text} for {resource}",
            role=f"pressure_{resource}_us" if kind == "some" else "",
        )
        for resource in _RESOURCES
        for kind, text in _KINDS.items()
    ),
)


def read(root: Path, _watch: Watch) -> Rows:
    row: dict[str, str | int | float | bool | None] = {}
    for resource in _RESOURCES:
        totals = parse((root / "proc/pressure" / resource).read_text())
        for kind in _KINDS:
            row[f"{resource}_{kind}_us"] = totals.get(kind)
    return [row]


def parse(text: str) -> dict[str, int]:
    """Total microseconds by kind. Raises `ValueError` when it is not such a file."""
    totals = {}
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        total = rest.rpartition("total=")[2]
        totals[kind] = int(total)
    if "some" not in totals:
        raise ValueError("no line `some` in a file of /proc/pressure")
    return totals
