"""Who else uses the disks: programs that are neither the server nor the driver, by what they sent to storage and had
from there.

Source: /proc/<pid>/io (proc(5)), which only root may read of foreign processes. What a program changes in the page
cache is charged to it when it changes it, not when it reaches the disk.
"""

from __future__ import annotations

from pathlib import Path

from dbdyno.hosts.process import parse_io
from dbdyno.hosts.processes import content, newest
from dbdyno.hosts.registry import Rows, Watch
from dbdyno.model.probe import Column, ColumnKind, Probe

_SHOWN = 24
_KERNEL = ("kworker/", "kswapd", "jbd2/", "loop")
"""Threads of the kernel write what programs changed before: it was charged to these already."""
_READ_BYTES_MIN = 1 << 20
"""Who has read less since its start reads its own program and no more."""
_PROCESSES_MAX = 400
"""The newest are looked at, for each costs two files: a bulk job is seldom older than a service."""

PROBE = Probe(
    name="writers",
    title="Other programs that write or read",
    cost="one file for each process of the machine, at most 400",
    every_s=2.0,
    columns=(
        Column(name="program", kind=ColumnKind.KEY, help="its name; processes of one name are summed"),
        Column(name="write_bytes", kind=ColumnKind.COUNTER, unit="B", help="sent to storage"),
        Column(name="read_bytes", kind=ColumnKind.COUNTER, unit="B", help="had from storage"),
    ),
)


def read(root: Path, watch: Watch) -> Rows:
    """Those that wrote or read most since their start. Raises `OSError` when nobody's may be read."""
    known = {pid for pids in watch.processes.values() for pid in pids}
    found: dict[str, tuple[float, float]] = {}
    refused: OSError | None = None
    seen = False
    for pid in newest(root, _PROCESSES_MAX):
        if pid in known:
            continue
        try:
            moved = parse_io(content(root, pid, "io"))
            seen = True
            # Most have written nothing and read little, and their names are of no interest.
            bulk = moved["write_bytes"] or moved["read_bytes"] >= _READ_BYTES_MIN
            name = content(root, pid, "comm").strip() if bulk else ""
        except PermissionError as error:
            refused = error
        except (FileNotFoundError, ProcessLookupError):
            continue
        else:
            if name and not name.startswith(_KERNEL):
                written, had = found.get(name, (0.0, 0.0))
                found[name] = (written + moved["write_bytes"], had + moved["read_bytes"])
    if refused is not None and not seen:
        raise refused
    most = {name for which in (0, 1) for name in sorted(found, key=lambda one: -found[one][which])[:_SHOWN]}
    return [{"program": name, "write_bytes": found[name][0], "read_bytes": found[name][1]} for name in sorted(most)]
