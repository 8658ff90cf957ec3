"""Which server on the machine the audit is about, as far as that is known."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.hosts.tree import Tree


@dataclass(frozen=True)
class Subject:
    """Everything may be unknown: then only the machine itself is judged."""

    data_dir: Path | None = None
    """Folder of the server's data, as the server sees it."""
    log_dir: Path | None = None
    """Folder of its redo or write-ahead log; None when it is below the data or not known."""
    pids: tuple[int, ...] = ()
    """The server's processes, the first is the one that was started."""
    device: str | None = None
    """Block device under the data where that is known better than from the mount table."""


def find_pids(tree: Tree, data_dir: Path) -> tuple[int, ...]:
    """Processes that work in the data folder, or were told it on their command line; the oldest first.

    Working folders are shown to root and to the same user, command lines to everybody. Raises nothing: an empty
    answer means not found.
    """
    found = []
    with contextlib.suppress(OSError):
        for pid in tree.processes():
            if _works_in(tree, pid, data_dir) or _names(_arguments(tree, pid), data_dir):
                found.append(pid)
    return tuple(sorted(found))


def _works_in(tree: Tree, pid: int, folder: Path) -> bool:
    try:
        return Path(tree.link(f"proc/{pid}/cwd")) == folder
    except OSError:
        return False


def _arguments(tree: Tree, pid: int) -> Sequence[str]:
    try:
        return tree.text(f"proc/{pid}/cmdline").split("\0")
    except OSError:
        return ()


def _names(arguments: Sequence[str], folder: Path) -> bool:
    """Only programs that are no mere tools: the folder must be an argument of its own or follow an equals sign."""
    wanted = str(folder)
    said = any(word.rstrip("/") == wanted or word.partition("=")[2].rstrip("/") == wanted for word in arguments[1:])
    return said and Path(arguments[0]).name not in _TOOLS


_TOOLS = frozenset({"sh", "bash", "dash", "ls", "du", "find", "grep", "tar", "rsync", "cp", "tail", "less", "vi", "vim",
                    "python3", "python", "sudo", "su", "setpriv"})  # fmt: skip
