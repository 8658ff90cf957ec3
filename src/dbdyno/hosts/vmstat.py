"""Paging and write-back. Source: /proc/vmstat; counts of pages become bytes."""

from __future__ import annotations

from pathlib import Path

from dbdyno.hosts.registry import Rows, Watch
from dbdyno.model.probe import Column, ColumnKind, Probe

_KIB = -1
"""Marks fields that the kernel counts in KiB whatever the page's size."""
_GAUGES = {
    "dirty_bytes": ("nr_dirty", "page cache changed and not yet written"),
    "writeback_bytes": ("nr_writeback", "page cache under way to disk"),
}
_COUNTERS = {
    "paged_in_bytes": ("pgpgin", _KIB, "read from disks"),
    "paged_out_bytes": ("pgpgout", _KIB, "written to disks"),
    "swap_in_bytes": ("pswpin", 0, "read from swap"),
    "swap_out_bytes": ("pswpout", 0, "written to swap"),
    "written_back_bytes": ("nr_written", 0, "page cache written back"),
    "faults": ("pgfault", 1, "page faults"),
    "major_faults": ("pgmajfault", 1, "page faults that had to read"),
    "direct_reclaim_pages": ("pgscan_direct", 1, "pages that programs had to look at themselves to get memory"),
    "out_of_memory_kills": ("oom_kill", 1, "programs killed for want of memory"),
}
_ROLES = {"dirty_bytes", "swap_out_bytes"}

PROBE = Probe(
    name="vmstat",
    title="Paging and write-back",
    cost="one file",
    columns=(
        *(
            Column(name=name, kind=ColumnKind.GAUGE, unit="B", help=text, role=name if name in _ROLES else "")
            for name, (_, text) in _GAUGES.items()
        ),
        *(
            Column(
                name=name,
                kind=ColumnKind.COUNTER,
                unit="" if factor == 1 else "B",
                help=text,
                role=name if name in _ROLES else "",
            )
            for name, (_, factor, text) in _COUNTERS.items()
        ),
    ),
)


def read(root: Path, watch: Watch) -> Rows:
    return parse((root / "proc/vmstat").read_text(), page_bytes=watch.page_bytes)


def parse(text: str, *, page_bytes: int = 4096) -> Rows:
    """One row. Raises `ValueError` when it is not such a file; a field that this kernel lacks is None."""
    found = {words[0]: int(words[1]) for words in map(str.split, text.splitlines()) if len(words) == 2}
    if "nr_dirty" not in found:
        raise ValueError("no nr_dirty in /proc/vmstat")
    row: dict[str, str | int | float | bool | None] = {}
    for name, (field, _) in _GAUGES.items():
        row[name] = found[field] * page_bytes if field in found else None
    for name, (field, factor, _) in _COUNTERS.items():
        scale = {_KIB: 1024, 0: page_bytes}.get(factor, 1)
        row[name] = found[field] * scale if field in found else None
    return [row]
