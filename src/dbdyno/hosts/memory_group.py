"""Memory of the server's control group against its limit, and processor time that its quota took away.

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
    cost="four files",
    columns=(
        Column(name="group", kind=ColumnKind.KEY, help="path of the group that has the limit"),
        Column(name="limit_bytes", kind=ColumnKind.GAUGE, unit="B", help="most memory, page cache included"),
        Column(name="used_bytes", kind=ColumnKind.GAUGE, unit="B", help="memory in use, page cache included"),
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
        "limit_hits": _field(folder / "memory.events", "max"),
        "killed": _field(folder / "memory.events", "oom_kill"),
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
