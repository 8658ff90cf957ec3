"""Network interfaces that moved anything. Source: /proc/net/dev."""

from __future__ import annotations

from pathlib import Path

from dbdyno.hosts.registry import Rows, Watch
from dbdyno.model.probe import Column, ColumnKind, Probe

_COLUMNS = (
    ("received_bytes", 0, "B", "bytes received"),
    ("received_packets", 1, "", "packets received"),
    ("received_errors", 2, "", "packets received broken"),
    ("received_drops", 3, "", "packets received and thrown away"),
    ("sent_bytes", 8, "B", "bytes sent"),
    ("sent_packets", 9, "", "packets sent"),
    ("sent_errors", 10, "", "packets that could not be sent"),
    ("sent_drops", 11, "", "packets thrown away before sending"),
)

PROBE = Probe(
    name="network",
    title="Network interfaces",
    cost="one file",
    columns=(
        Column(name="interface", kind=ColumnKind.KEY, help="name of the interface"),
        *(Column(name=name, kind=ColumnKind.COUNTER, unit=unit, help=text) for name, _, unit, text in _COLUMNS),
    ),
)


def read(root: Path, _watch: Watch) -> Rows:
    rows = parse((root / "proc/net/dev").read_text())
    return [row for row in rows if row["received_packets"] or row["sent_packets"]]


def parse(text: str) -> Rows:
    """A row for every interface. Raises `ValueError` on a line that is not one."""
    rows: Rows = []
    for line in text.splitlines()[2:]:
        name, colon, rest = line.partition(":")
        fields = rest.split()
        if not colon or len(fields) < 16:
            raise ValueError(f"not a line of /proc/net/dev: {line!r}")
        rows.append({"interface": name.strip(), **{column: int(fields[i]) for column, i, _, _ in _COLUMNS}})
    return rows
