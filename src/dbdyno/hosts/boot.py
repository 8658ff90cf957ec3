"""When the machine was started, by its wall clock: the value moves when the clock is set, and only then.

Source: `btime` in /proc/stat, which the kernel makes from the wall clock and the time since the start.
"""

from __future__ import annotations

from pathlib import Path

from dbdyno.hosts.registry import Rows, Watch
from dbdyno.model.probe import Column, ColumnKind, Probe

PROBE = Probe(
    name="boot",
    title="Steps of the wall clock",
    cost="one file",
    columns=(
        Column(
            name="boot_unix_s",
            kind=ColumnKind.GAUGE,
            unit="unix_s",
            role="boot_unix_s",
            help="start of the machine by its wall clock",
        ),
    ),
)


def read(root: Path, _watch: Watch) -> Rows:
    return parse((root / "proc/stat").read_text())


def parse(text: str) -> Rows:
    """One row. Raises `ValueError` when it is not such a file."""
    for line in text.splitlines():
        if line.startswith("btime "):
            return [{"boot_unix_s": int(line.split()[1])}]
    raise ValueError("no btime in /proc/stat")
