"""Memory of the machine. Source: /proc/meminfo (Documentation/filesystems/proc.rst of the kernel)."""

from __future__ import annotations

from pathlib import Path

from dbdyno.hosts.registry import Rows, Watch
from dbdyno.model.probe import Column, ColumnKind, Probe

_FIELDS = {
    "total_bytes": ("MemTotal", "all memory"),
    "available_bytes": ("MemAvailable", "what programs could still get without swapping"),
    "free_bytes": ("MemFree", "unused"),
    "cached_bytes": ("Cached", "page cache, shared memory included"),
    "anonymous_bytes": ("AnonPages", "memory of programs that no file backs"),
    "shared_bytes": ("Shmem", "shared memory and tmpfs"),
    "page_table_bytes": ("PageTables", "page tables"),
    "slab_bytes": ("Slab", "the kernel's own objects"),
    "swap_total_bytes": ("SwapTotal", "swap space"),
    "swap_free_bytes": ("SwapFree", "unused swap space"),
    "huge_total_bytes": ("Hugetlb", "reserved as huge pages"),
}

PROBE = Probe(
    name="memory",
    title="Memory of the machine",
    cost="one file",
    columns=tuple(
        Column(
            name=name,
            kind=ColumnKind.GAUGE,
            unit="B",
            help=text,
            role="memory_available_bytes" if name == "available_bytes" else "",
        )
        for name, (_, text) in _FIELDS.items()
    ),
)


def read(root: Path, _watch: Watch) -> Rows:
    return parse((root / "proc/meminfo").read_text())


def parse(text: str) -> Rows:
    """One row in bytes. Raises `ValueError` when it is not such a file."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words:
            found[name] = int(words[0]) * (1024 if words[1:] == ["kB"] else 1)
    if "MemTotal" not in found:
        raise ValueError("no MemTotal in /proc/meminfo")
    return [{name: found.get(field) for name, (field, _) in _FIELDS.items()}]
