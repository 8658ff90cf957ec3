"""Processor time by state. Source: /proc/stat, described in the kernel's Documentation/filesystems/proc.rst."""

from __future__ import annotations

from pathlib import Path

from dbdyno.hosts.registry import Rows, Watch
from dbdyno.model.probe import Column, ColumnKind, Probe

_STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_HELP = {
    "user": "in programs",
    "nice": "in programs of low priority",
    "system": "in the kernel",
    "idle": "doing nothing",
    "iowait": "doing nothing while input or output was under way",
    "irq": "in interrupts",
    "softirq": "in deferred interrupts",
    "steal": "wanted, but given to another virtual machine",
}

PROBE = Probe(
    name="cpu",
    title="Processor time of the machine, all cores",
    cost="one file",
    columns=(
        *(
            Column(name=f"{state}_s", kind=ColumnKind.COUNTER, unit="s", help=_HELP[state], role=f"cpu_{state}_s")
            for state in _STATES
        ),
        Column(name="cores", kind=ColumnKind.GAUGE, help="processors on line"),
        Column(name="context_switches", kind=ColumnKind.COUNTER, help="switches between tasks"),
        Column(name="running", kind=ColumnKind.GAUGE, help="tasks that run or could run"),
        Column(name="blocked", kind=ColumnKind.GAUGE, help="tasks that wait for input or output"),
    ),
)


def read(root: Path, watch: Watch) -> Rows:
    return parse((root / "proc/stat").read_text(), ticks_per_s=watch.ticks_per_s)


def parse(text: str, *, ticks_per_s: int = 100) -> Rows:
    """One row. Raises `ValueError` when the text lacks the line of all processors."""
    lines = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.strip()}
    if "cpu" not in lines:
        raise ValueError("no line `cpu` in /proc/stat")
    ticks = [int(word) for word in lines["cpu"]]
    # Guests are counted in user and nice already; old kernels lack the last columns.
    row: dict[str, str | int | float | bool | None] = {
        f"{state}_s": ticks[i] / ticks_per_s if i < len(ticks) else None for i, state in enumerate(_STATES)
    }
    row["cores"] = sum(1 for name in lines if name.startswith("cpu") and name != "cpu")
    for column, name in (("context_switches", "ctxt"), ("running", "procs_running"), ("blocked", "procs_blocked")):
        row[column] = int(lines[name][0]) if name in lines else None
    return [row]
