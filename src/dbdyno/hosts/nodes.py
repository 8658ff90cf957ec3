"""Memory by node. Source: /sys/devices/system/node/node*/meminfo (Documentation/ABI/stable/sysfs-devices-node)."""

from __future__ import annotations

from pathlib import Path

from dbdyno.hosts.registry import Rows, Watch
from dbdyno.model.probe import Column, ColumnKind, Probe

_FIELDS = {
    "total_bytes": "MemTotal",
    "free_bytes": "MemFree",
    "file_bytes": "FilePages",
    "anonymous_bytes": "AnonPages",
}

PROBE = Probe(
    name="nodes",
    title="Memory by node",
    cost="one file for each memory node",
    every_s=5.0,
    columns=(
        Column(name="node", kind=ColumnKind.KEY, help="node0 …"),
        Column(name="total_bytes", kind=ColumnKind.GAUGE, unit="B", help="its memory"),
        Column(name="free_bytes", kind=ColumnKind.GAUGE, unit="B", help="unused"),
        Column(name="file_bytes", kind=ColumnKind.GAUGE, unit="B", help="page cache"),
        Column(name="anonymous_bytes", kind=ColumnKind.GAUGE, unit="B", help="memory of programs that no file backs"),
    ),
)


def read(root: Path, _watch: Watch) -> Rows:
    folder = root / "sys/devices/system/node"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name[4:].isdigit())
    rows: Rows = [{"node": name, **parse((folder / name / "meminfo").read_text())} for name in names]
    return rows


def parse(text: str) -> dict[str, int | None]:
    """Bytes by column. Raises `ValueError` when it is not such a file."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words:
            found[name.split()[-1]] = int(words[0]) * 1024
    if "MemTotal" not in found:
        raise ValueError("no MemTotal in a node's meminfo")
    return {column: found.get(field) for column, field in _FIELDS.items()}
