"""How fast the processors run at the moment. Source: /proc/cpuinfo (`cpu MHz`; virtual machines show a constant)."""

from __future__ import annotations

from pathlib import Path

from dbdyno.hosts.registry import Rows, Watch
from dbdyno.model.probe import Column, ColumnKind, Probe

PROBE = Probe(
    name="frequency",
    title="Frequency of the processors",
    cost="one file",
    every_s=5.0,
    columns=(
        Column(name="mean_mhz", kind=ColumnKind.GAUGE, unit="MHz", help="over all processors"),
        Column(name="lowest_mhz", kind=ColumnKind.GAUGE, unit="MHz", help="of the slowest"),
    ),
)


def read(root: Path, _watch: Watch) -> Rows:
    return parse((root / "proc/cpuinfo").read_text())


def parse(text: str) -> Rows:
    """One row. Raises `ValueError` when no frequency is in it (other architectures)."""
    found = [float(line.partition(":")[2]) for line in text.splitlines() if line.startswith("cpu MHz")]
    if not found:
        raise ValueError("no cpu MHz in /proc/cpuinfo")
    return [{"mean_mhz": sum(found) / len(found), "lowest_mhz": min(found)}]
