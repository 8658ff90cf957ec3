"""Memory of the server's control group against its limit, what it is used for, and what was swapped out.

Sources: the kernel's Documentation/admin-guide/cgroup-v1/memory.rst and cgroup-v2.rst. A group without a limit, or a
server that is in none, gives no row.
"""

from __future__ import annotations

from pathlib import Path

from dbdyno.hosts.limits import parse_groups
from dbdyno.hosts.registry import Rows, Watch
from dbdyno.model.fact import Scalar
from dbdyno.model.probe import Column, ColumnKind, Probe

_UNLIMITED_BYTES = 1 << 62

PROBE = Probe(
    name="memory_group",
    title="The server's control group",
    cost="six files",
    columns=(
        Column(name="group", kind=ColumnKind.KEY, help="path of the group that has the limit"),
        Column(name="limit_bytes", kind=ColumnKind.GAUGE, unit="B", help="most memory, page cache included"),
        Column(name="used_bytes", kind=ColumnKind.GAUGE, unit="B", help="memory in use, page cache included"),
        Column(name="cached_bytes", kind=ColumnKind.GAUGE, unit="B", help="page cache of files"),
        Column(name="dirty_bytes", kind=ColumnKind.GAUGE, unit="B", help="page cache not on disk yet, or on its way"),
        Column(name="swapped_bytes", kind=ColumnKind.GAUGE, unit="B", help="memory of its programs that is in swap"),
        Column(name="limit_hits", kind=ColumnKind.COUNTER, help="allocations that met the limit"),
        Column(name="killed", kind=ColumnKind.COUNTER, help="programs of the group killed for want of memory"),
    ),
)


def read(root: Path, watch: Watch) -> Rows:
    pids = watch.processes.get("server") or ()
    owner = str(pids[0]) if pids else "self"
    groups = parse_groups((root / "proc" / owner / "cgroup").read_text())
    for base, path, one in (
        (root / "sys/fs/cgroup/memory", groups.get("memory"), _version_1),
        (root / "sys/fs/cgroup", groups.get(""), _version_2),
    ):
        folder = base / path.lstrip("/") if path else base
        while path and folder != base and base in folder.parents:
            row = one(folder)
            if row is not None:
                return [{"group": "/" + folder.relative_to(base).as_posix(), **row}]
            folder = folder.parent
    return []


def _version_1(folder: Path) -> dict[str, Scalar] | None:
    limit = _number(folder / "memory.limit_in_bytes")
    if limit is None or limit >= _UNLIMITED_BYTES:
        return None
    return {
        "limit_bytes": limit,
        "used_bytes": _number(folder / "memory.usage_in_bytes"),
        **_uses(folder, "total_cache", "total_shmem", ("total_dirty", "total_writeback"), "total_swap"),
        "limit_hits": _number(folder / "memory.failcnt"),
        "killed": _field(folder / "memory.oom_control", "oom_kill"),
    }


def _version_2(folder: Path) -> dict[str, Scalar] | None:
    limit = _number(folder / "memory.max")
    if limit is None:
        return None
    return {
        "limit_bytes": limit,
        "used_bytes": _number(folder / "memory.current"),
        **_uses(folder, "file", "shmem", ("file_dirty", "file_writeback"), ""),
        "swapped_bytes": _number(folder / "memory.swap.current"),
        "limit_hits": _field(folder / "memory.events", "max"),
        "killed": _field(folder / "memory.events", "oom_kill"),
    }


def _uses(folder: Path, cached: str, shared: str, dirty: tuple[str, str], swapped: str) -> dict[str, Scalar]:
    """From memory.stat; memory that programs share is counted there as cache, but is nobody's file."""
    try:
        found = parse_fields((folder / "memory.stat").read_text())
    except OSError:
        found = {}
    return {
        "cached_bytes": found[cached] - found.get(shared, 0) if cached in found else None,
        "dirty_bytes": sum(found[one] for one in dirty) if found.keys() >= set(dirty) else None,
        "swapped_bytes": found.get(swapped),
    }


def _number(path: Path) -> int | None:
    """None for a file that is not there and for the word `max`."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _field(path: Path, name: str) -> int | None:
    try:
        return parse_fields(path.read_text()).get(name)
    except OSError:
        return None


def parse_fields(text: str) -> dict[str, int]:
    """Lines of a name and a number."""
    pairs = (line.split() for line in text.splitlines())
    return {words[0]: int(words[1]) for words in pairs if len(words) == 2 and words[1].isdigit()}
