"""Processor time by core. Source: /proc/stat; one core that serves all interrupts is invisible in the sum."""

from __future__ import annotations

from pathlib import Path

from dbdyno.hosts.registry import Rows, Watch
from dbdyno.model.probe import Column, ColumnKind, Probe

_FIELDS = {
    "system_s": (2, "in the kernel"),
    "idle_s": (3, "doing nothing"),
    "softirq_s": (6, "in deferred interrupts"),
}
_CORES_MAX = 128
"""Cores beyond are left out: a row for each would make the record large."""

PROBE = Probe(
    name="cores",
    title="Processor time by core",
    cost="one file",
    columns=(
        Column(name="core", kind=ColumnKind.KEY, help="cpu0 …"),
        *(
            Column(name=name, kind=ColumnKind.COUNTER, unit="s", help=text)
            for name, (_, text) in _FIELDS.items()
        ),
    ),
)  # fmt: skip


def read(root: Path, watch: Watch) -> Rows:
    return parse((root / "proc/stat").read_text(), ticks_per_s=watch.ticks_per_s)


def parse(text: str, *, ticks_per_s: int = 100) -> Rows:
    """A row for each core. Raises `ValueError` when there is none."""
    rows: Rows = []
    for line in text.splitlines():
        words = line.split()
        if not words or not words[0].startswith("cpu") or words[0] == "cpu" or len(rows) == _CORES_MAX:
            continue
        times = {name: int(words[1 + index]) / ticks_per_s for name, (index, _) in _FIELDS.items()}
        rows.append({"core": words[0], **times})
    if not rows:
        raise ValueError("no line `cpu0` in /proc/stat")
    return rows
