"""Files of many processes at a time, `/proc/<pid>/…`: probes that look at each process of a machine live on this.

On this machine they are read with bare system calls: a path object, a text decoder and a buffer for each file cost
three times what the kernel takes to answer, each second, on the machine that is measured.
"""

from __future__ import annotations

import os
from pathlib import Path

_HERE = type(Path())
"""A root of another class is of another machine (`hosts.faraway`), which answers by its methods."""
_BYTES_MAX = 1 << 16


def newest(root: Path, most: int) -> list[int]:
    """Numbers of the newest processes. Raises `OSError` when there is no list of them."""
    proc = root / "proc"
    names = os.listdir(proc) if type(root) is _HERE else [one.name for one in proc.iterdir()]
    return sorted((int(name) for name in names if name.isdigit()), reverse=True)[:most]


def content(root: Path, pid: int, file: str) -> str:
    """Of a process's file. Raises `FileNotFoundError` or `ProcessLookupError` when the process has ended, and
    `PermissionError`."""
    if type(root) is not _HERE:
        return (root / "proc" / str(pid) / file).read_text(errors="replace")
    opened = os.open(f"{root}/proc/{pid}/{file}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(opened, _BYTES_MAX).decode(errors="replace")
    finally:
        os.close(opened)
