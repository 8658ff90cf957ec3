"""Sizes as people read them, and limits that may be without end."""

from __future__ import annotations

import math

from dbdyno.model.facts import Facts

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def size(value: float) -> str:
    """Bytes with a binary unit."""
    for unit, name in ((1 << 40, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if value >= unit:
            return f"{value / unit:.3g} {name}"
    return f"{value:g} B"


def limit(facts: Facts, name: str) -> float:
    """A limit of the process; infinite when there is none."""
    return math.inf if facts.value(name) == "unlimited" else facts.number(name)
