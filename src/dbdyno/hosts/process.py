"""What the server's and the driver's processes use, summed. Sources: /proc/<pid>/stat, status and io (proc(5)).

Processor time and input/output include children that ended and were waited for, so that the sum over a server's living
processes goes on rising when a backend ends. Shared memory is in every process that maps it and is counted once.
"""

from __future__ import annotations

from pathlib import Path

from dbdyno.hosts.processes import content
from dbdyno.hosts.registry import Rows, Watch
from dbdyno.model.probe import Column, ColumnKind, Probe

PROBE = Probe(
    name="process",
    title="Processes of the server and the driver",
    cost="three files for each process",
    columns=(
        Column(name="who", kind=ColumnKind.KEY, help="server, driver or dyno"),
        Column(name="processes", kind=ColumnKind.GAUGE, help="processes alive"),
        Column(name="threads", kind=ColumnKind.GAUGE, help="threads of them"),
        Column(name="user_s", kind=ColumnKind.COUNTER, unit="s", help="processor time in programs"),
        Column(name="system_s", kind=ColumnKind.COUNTER, unit="s", help="processor time in the kernel"),
        Column(name="cpu_s", kind=ColumnKind.COUNTER, unit="s", role="process_cpu_s", help="both"),
        Column(name="private_bytes", kind=ColumnKind.GAUGE, unit="B", help="resident memory that no file backs"),
        Column(name="shared_bytes", kind=ColumnKind.GAUGE, unit="B", help="resident shared memory, counted once"),
        Column(name="swapped_bytes", kind=ColumnKind.GAUGE, unit="B", help="swapped out"),
        Column(name="read_bytes", kind=ColumnKind.COUNTER, unit="B", help="read from storage"),
        Column(
            name="write_bytes", kind=ColumnKind.COUNTER, unit="B", role="process_write_bytes", help="sent to storage"
        ),
        Column(name="waits", kind=ColumnKind.COUNTER, help="context switches because it had to wait"),
        Column(name="preemptions", kind=ColumnKind.COUNTER, help="context switches because it was interrupted"),
    ),
)


def read(root: Path, watch: Watch) -> Rows:
    """A row for each group; a process that has just ended is left out, a group without any is not in the answer."""
    rows: Rows = []
    for who, pids in watch.processes.items():
        parts = [part for pid in pids if (part := _read_one(root, pid, watch.ticks_per_s)) is not None]
        if parts:
            rows.append({"who": who, **_sum(parts)})
    return rows


def _read_one(root: Path, pid: int, ticks_per_s: int) -> dict[str, float | None] | None:
    try:
        part: dict[str, float | None] = {}
        part |= parse_stat(content(root, pid, "stat"), ticks_per_s=ticks_per_s)
        part |= parse_status(content(root, pid, "status"))
    except (FileNotFoundError, ProcessLookupError):
        return None
    try:
        part |= parse_io(content(root, pid, "io"))
    except (PermissionError, FileNotFoundError, ProcessLookupError):
        # Only the process's own user and root may read it: unknown, not zero.
        part |= {"read_bytes": None, "write_bytes": None}
    return part


def _sum(parts: list[dict[str, float | None]]) -> dict[str, str | int | float | bool | None]:
    total: dict[str, str | int | float | bool | None] = {"processes": len(parts)}
    for name in parts[0]:
        values = [part.get(name) for part in parts]
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            total[name] = None
        else:
            total[name] = max(known) if name == "shared_bytes" else sum(known)
    return total


def parse_stat(text: str, *, ticks_per_s: int = 100) -> dict[str, float]:
    """Processor seconds, children that ended included. Raises `ValueError` when it is not such a file."""
    # The name may hold blanks and brackets: fields begin after its last bracket.
    fields = text[text.rindex(")") + 1 :].split()
    if len(fields) < 18:
        raise ValueError("not a /proc/<pid>/stat")
    user, system, children_user, children_system = (int(word) / ticks_per_s for word in fields[11:15])
    user_s, system_s = user + children_user, system + children_system
    return {"threads": int(fields[17]), "user_s": user_s, "system_s": system_s, "cpu_s": user_s + system_s}


def parse_status(text: str) -> dict[str, float]:
    """Memory in bytes and context switches; a kernel thread has no memory."""

    # Five of some sixty lines are of interest, for each process and second: only they are taken apart.
    def value_of(name: str) -> int | None:
        _, found, rest = text.partition(f"\n{name}:")
        return int(rest.split(maxsplit=1)[0]) if found else None

    def bytes_of(name: str) -> int:
        return (value_of(name) or 0) * 1024

    waits, preemptions = value_of("voluntary_ctxt_switches"), value_of("nonvoluntary_ctxt_switches")
    if waits is None or preemptions is None:
        raise ValueError("not a /proc/<pid>/status")
    return {
        "private_bytes": bytes_of("RssAnon"),
        "shared_bytes": bytes_of("RssShmem"),
        "swapped_bytes": bytes_of("VmSwap"),
        "waits": waits,
        "preemptions": preemptions,
    }


def parse_io(text: str) -> dict[str, float]:
    """Bytes from and to storage. Raises `ValueError` when it is not such a file."""
    words = text.split()
    found = dict(zip(words[::2], words[1::2], strict=False))
    if "write_bytes:" not in found or "read_bytes:" not in found:
        raise ValueError("not a /proc/<pid>/io")
    return {"read_bytes": int(found["read_bytes:"]), "write_bytes": int(found["write_bytes:"])}
