"""Block devices. Source: /proc/diskstats (the kernel's Documentation/admin-guide/iostats.rst).

A sector is 512 bytes there whatever the device says. Mean wait of an operation: difference of `*_ms` over difference of
its count; utilisation: rate of `busy_ms`; mean queue: rate of `queue_ms`.
"""

from __future__ import annotations

import re
from pathlib import Path

from dbdyno.hosts.registry import Rows, Watch
from dbdyno.model.probe import Column, ColumnKind, Probe

_SECTOR_BYTES = 512
_LEFT_OUT = re.compile(r"^(loop|ram|zram|sr|fd|nbd)\d+$")

_COLUMNS = (
    # name, index among the fields after the device's name, factor, unit, help
    ("reads", 0, 1, "", "reads done"),
    ("read_bytes", 2, _SECTOR_BYTES, "B", "bytes read"),
    ("read_ms", 3, 1, "ms", "time of all reads, summed"),
    ("writes", 4, 1, "", "writes done"),
    ("write_bytes", 6, _SECTOR_BYTES, "B", "bytes written"),
    ("write_ms", 7, 1, "ms", "time of all writes, summed"),
    ("busy_ms", 9, 1, "ms", "time in which something was under way"),
    ("queue_ms", 10, 1, "ms", "time of all operations, summed: its rate is the mean queue"),
    ("flushes", 15, 1, "", "cache flushes done"),
    ("flush_ms", 16, 1, "ms", "time of all cache flushes, summed"),
)
_ROLES = {"reads", "writes", "read_bytes", "write_bytes", "write_ms", "busy_ms"}

PROBE = Probe(
    name="disk",
    title="Block devices",
    cost="one file",
    columns=(
        Column(name="device", kind=ColumnKind.KEY, help="name of the block device"),
        *(
            Column(
                name=name,
                kind=ColumnKind.COUNTER,
                unit=unit,
                help=text,
                role=f"disk_{name}" if name in _ROLES else "",
            )
            for name, _, _, unit, text in _COLUMNS
        ),
        Column(name="in_flight", kind=ColumnKind.GAUGE, help="operations under way"),
    ),
)


def read(root: Path, watch: Watch) -> Rows:
    """Whole devices, not partitions: those of a physical kind, and the ones that are watched by name."""
    whole = {entry.name for entry in (root / "sys/block").iterdir()}
    rows = parse((root / "proc/diskstats").read_text())
    return [
        row
        for row in rows
        if row["device"] in watch.devices or (row["device"] in whole and not _LEFT_OUT.match(str(row["device"])))
    ]


def parse(text: str) -> Rows:
    """A row for every line. Raises `ValueError` on a line that is not one."""
    rows: Rows = []
    for line in text.splitlines():
        words = line.split()
        if not words:
            continue
        if len(words) < 14:
            raise ValueError(f"not a line of /proc/diskstats: {line!r}")
        fields = [int(word) for word in words[3:]]
        row: dict[str, str | int | float | bool | None] = {"device": words[2]}
        for name, index, factor, _, _ in _COLUMNS:
            # Flushes came with kernel 5.5.
            row[name] = fields[index] * factor if index < len(fields) else None
        row["in_flight"] = fields[8]
        rows.append(row)
    return rows
