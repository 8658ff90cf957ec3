"""What the machine does at this moment, from counters read twice: swapping, stolen time, throttling, interrupts.

Sources: /proc/vmstat, /proc/stat, /proc/softirqs (proc(5)), the control group's cpu.stat.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from dbdyno.hosts.tree import Tree
from dbdyno.model.fact import Fact, Scalar

MOMENT_S_MIN = 0.2
"""Two readings nearer to each other say nothing."""


@dataclass(frozen=True)
class Counters:
    """One reading. What could not be read is in `unknown` by the file's path."""

    values: dict[str, float] = field(default_factory=dict)
    softirqs: tuple[float, ...] = ()
    """Network receive interrupts served by each processor."""
    unknown: dict[str, str] = field(default_factory=dict)


def read(tree: Tree) -> Counters:
    """Raises nothing."""
    values: dict[str, float] = {}
    unknown: dict[str, str] = {}
    softirqs: tuple[float, ...] = ()
    for path, parse in (("proc/vmstat", parse_vmstat), ("proc/stat", parse_stat)):
        try:
            values |= parse(tree.text(path))
        except (OSError, ValueError) as error:
            unknown[path] = getattr(error, "strerror", None) or str(error)
    try:
        softirqs = parse_softirqs(tree.text("proc/softirqs"))
    except (OSError, ValueError) as error:
        unknown["proc/softirqs"] = getattr(error, "strerror", None) or str(error)
    return Counters(values, softirqs, unknown)


def parse_vmstat(text: str) -> dict[str, float]:
    """Pages swapped in and out since the boot. Raises `ValueError` when it is not such a file."""
    found = dict(line.split(None, 1) for line in text.splitlines() if " " in line)
    if "pswpin" not in found:
        raise ValueError("no pswpin")
    return {name: float(found[name]) for name in ("pswpin", "pswpout")}


def parse_stat(text: str) -> dict[str, float]:
    """Ticks of all processors: stolen, idle, all. Raises `ValueError`."""
    first = text.split("\n", 1)[0].split()
    if not first or first[0] != "cpu" or len(first) < 9:
        raise ValueError("no processor times")
    # Guests' time (fields 9 and 10) is part of user time already.
    ticks = [float(word) for word in first[1:9]]
    return {"stolen": ticks[7], "idle": ticks[3] + ticks[4], "all": sum(ticks)}


def parse_softirqs(text: str) -> tuple[float, ...]:
    """Network receive interrupts by processor. Raises `ValueError`."""
    for line in text.splitlines():
        name, _, counts = line.partition(":")
        if name.strip() == "NET_RX":
            return tuple(float(word) for word in counts.split())
    raise ValueError("no NET_RX")


def compare(before: Counters, after: Counters, seconds: float) -> list[Fact]:
    """Facts `host.now.*`. With less than a moment between the readings they are unknown."""
    too_short = "" if seconds >= MOMENT_S_MIN else "needs two samples"

    def fact(name: str, unit: str, path: str, value: Scalar) -> Fact:
        unknown = after.unknown.get(path) or before.unknown.get(path) or too_short
        return Fact(name=f"host.now.{name}", unit=unit, source="/" + path, value=None if unknown else value,
                    unknown=unknown)  # fmt: skip

    grown = {name: max(0.0, value - before.values.get(name, value)) for name, value in after.values.items()}
    page_bytes = os.sysconf("SC_PAGE_SIZE")
    span_s = max(seconds, MOMENT_S_MIN)
    return [
        fact("swap_in_bytes_per_s", "B/s", "proc/vmstat", grown.get("pswpin", 0.0) * page_bytes / span_s),
        fact("swap_out_bytes_per_s", "B/s", "proc/vmstat", grown.get("pswpout", 0.0) * page_bytes / span_s),
        fact("stolen_ratio", "", "proc/stat", _share(grown.get("stolen", 0.0), grown.get("all", 0.0))),
        fact("busy_ratio", "", "proc/stat", 1.0 - _share(grown.get("idle", 0.0), grown.get("all", 0.0))),
        fact("network_interrupts_per_s", "1/s", "proc/softirqs", sum(_softirqs(before, after)) / span_s),
        fact("network_interrupts_ratio_max", "", "proc/softirqs", _largest_share(_softirqs(before, after))),
    ]


def _softirqs(before: Counters, after: Counters) -> list[float]:
    return [max(0.0, new - old) for old, new in zip(before.softirqs, after.softirqs, strict=False)]


def _share(part: float, whole: float) -> float:
    return round(part / whole, 4) if whole > 0 else 0.0


def _largest_share(parts: list[float]) -> float:
    """Share of the processor that serves most."""
    return _share(max(parts, default=0.0), sum(parts))
