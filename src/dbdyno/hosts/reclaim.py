"""How hard the kernel works for free and for contiguous memory, and where writers are made to wait.

Source: /proc/vmstat (the kernel's mm/vmstat.c).
"""

from __future__ import annotations

from pathlib import Path

from dbdyno.hosts.registry import Rows, Watch
from dbdyno.model.probe import Column, ColumnKind, Probe

_COUNTERS = {
    "dirtied_bytes": (("nr_dirtied",), True, "page cache that programs changed"),
    "reclaim_stalls": (("allocstall_normal", "allocstall_movable", "allocstall_dma32"), False,
                       "programs that had to free memory themselves before they got some"),
    "scanned_pages": (("pgscan_kswapd",), False, "pages that the kernel looked at to free memory"),
    "compaction_stalls": (("compact_stall",), False, "programs that waited for memory to be made contiguous"),
    "compaction_failures": (("compact_fail",), False, "such efforts that failed"),
    "huge_page_fallbacks": (("thp_fault_fallback",), False, "huge pages that were wanted and not to be had"),
    "foreign_node_pages": (("numa_miss",), False, "pages taken from another memory node than was wanted"),
}  # fmt: skip
_GAUGES = {
    "dirty_limit_bytes": ("nr_dirty_threshold", "changed page cache at which writers are made to wait"),
    "dirty_background_bytes": ("nr_dirty_background_threshold", "changed page cache at which write-back begins"),
}

PROBE = Probe(
    name="reclaim",
    title="Memory that is hard to get",
    cost="one file",
    columns=(
        *(Column(name=name, kind=ColumnKind.GAUGE, unit="B", help=text) for name, (_, text) in _GAUGES.items()),
        *(
            Column(name=name, kind=ColumnKind.COUNTER, unit="B" if pages else "", help=text)
            for name, (_, pages, text) in _COUNTERS.items()
        ),
    ),
)


def read(root: Path, watch: Watch) -> Rows:
    return parse((root / "proc/vmstat").read_text(), page_bytes=watch.page_bytes)


def parse(text: str, *, page_bytes: int = 4096) -> Rows:
    """One row; a field that this kernel lacks is None. Raises `ValueError` when it is not such a file."""
    found = {words[0]: int(words[1]) for words in map(str.split, text.splitlines()) if len(words) == 2}
    if "nr_dirty_threshold" not in found:
        raise ValueError("no nr_dirty_threshold in /proc/vmstat")
    row: dict[str, str | int | float | bool | None] = {}
    for name, (field, _) in _GAUGES.items():
        row[name] = found[field] * page_bytes if field in found else None
    for name, (fields, pages, _) in _COUNTERS.items():
        known = [found[field] for field in fields if field in found]
        row[name] = sum(known) * (page_bytes if pages else 1) if known else None
    return [row]
