"""Who else writes: programs that are neither the server nor the driver, by what they sent to storage.

Source: /proc/<pid>/io (proc(5)), which only root may read of foreign processes. What a program changes in the page
cache is charged to it when it changes it, not when it reaches the disk.
"""

from __future__ import annotations

from pathlib import Path

from dbdyno.hosts.process import parse_io
from dbdyno.hosts.registry import Rows, Watch
from dbdyno.model.probe import Column, ColumnKind, Probe

_SHOWN = 24
_KERNEL = ("kworker/", "kswapd", "jbd2/", "loop")
"""Threads of the kernel write what programs changed before: it was charged to these already."""
_PROCESSES_MAX = 400
"""The newest are looked at, for each costs two files: a bulk job is seldom older than a service."""

PROBE = Probe(
    name="writers",
    title="Other programs that write",
    cost="one file for each process of the machine, at most 400",
    every_s=2.0,
    columns=(
        Column(name="program", kind=ColumnKind.KEY, help="its name; processes of one name are summed"),
        Column(name="write_bytes", kind=ColumnKind.COUNTER, unit="B", help="sent to storage"),
    ),
)


def read(root: Path, watch: Watch) -> Rows:
    """Those that wrote most since their start. Raises `OSError` when nobody's may be read."""
    known = {pid for pids in watch.processes.values() for pid in pids}
    pids = sorted((int(one.name) for one in (root / "proc").iterdir() if one.name.isdigit()), reverse=True)
    found: dict[str, float] = {}
    refused: OSError | None = None
    for pid in pids[:_PROCESSES_MAX]:
        folder = root / "proc" / str(pid)
        if pid in known:
            continue
        try:
            written = parse_io((folder / "io").read_text())["write_bytes"]
            name = (folder / "comm").read_text(errors="replace").strip()
            if name.startswith(_KERNEL):
                continue
        except PermissionError as error:
            refused = error
        except (FileNotFoundError, ProcessLookupError):
            continue
        else:
            found[name] = found.get(name, 0.0) + written
    if refused is not None and not found:
        raise refused
    largest = sorted(found.items(), key=lambda one: -one[1])[:_SHOWN]
    return [{"program": name, "write_bytes": written} for name, written in largest if written > 0]
