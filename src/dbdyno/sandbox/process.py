"""Processes of a private server: starting, telling alive from dead, ending the whole tree.

A process is named by its number and its start time, because numbers are given out again.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.model.clock import Clock
from dbdyno.model.record import Record

_LAUNCHER = Path(__file__).with_name("launcher.py")
_ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "TZ": "UTC"}
"""Nothing of the user's environment, which could change the server."""
_WAIT_STEP_S = 0.005


class ProcessId(Record, frozen=True, kw_only=True):
    pid: int
    started_ticks: int
    """Field `starttime` of /proc/<pid>/stat."""


class Identity(Record, frozen=True, kw_only=True):
    """The user of the operating system that a server runs as."""

    name: str
    uid: int
    gid: int


@dataclass(frozen=True)
class Launch:
    argv: Sequence[str]
    folder: Path
    log: Path
    identity: Identity | None
    """None: as the user that dyno runs as."""
    groups_join: Sequence[Path]
    """Files of control groups that the process writes its number to."""
    die_with_us: int | None
    """Signal that the kernel sends it when the thread of ours that started it ends; None: it stays."""


def launch(plan: Launch) -> int:
    """Starts a server in a session of its own; its words are appended to the log. Returns its process number."""
    words = {
        "groups_join": [str(file) for file in plan.groups_join],
        "uid": plan.identity.uid if plan.identity else None,
        "gid": plan.identity.gid if plan.identity else None,
        "parent": os.getpid() if plan.die_with_us is not None else 0,
        "signal": plan.die_with_us or 0,
        "folder": str(plan.folder),
        "argv": list(plan.argv),
        "environment": _ENVIRONMENT,
    }
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-I", "-S", str(_LAUNCHER), json.dumps(words)],
        _ENVIRONMENT,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(plan.log), flags, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )


@dataclass(frozen=True)
class Stat:
    state: str
    parent: int
    started_ticks: int


def parse_stat(text: str) -> Stat:
    """One line of /proc/<pid>/stat; the command in brackets may hold spaces and brackets."""
    fields = text[text.rindex(")") + 2 :].split()
    return Stat(state=fields[0], parent=int(fields[1]), started_ticks=int(fields[19]))


def read_stat(pid: int) -> Stat | None:
    try:
        return parse_stat(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError, IndexError):
        return None


def identify(pid: int) -> ProcessId | None:
    """The process with that number; None when there is none or it is a corpse."""
    stat = read_stat(pid)
    if stat is not None and stat.state == "Z":
        reap(pid)
    return None if stat is None or stat.state in "ZX" else ProcessId(pid=pid, started_ticks=stat.started_ticks)


def alive(process: ProcessId | None) -> bool:
    return process is not None and identify(process.pid) == process


def reap(pid: int) -> None:
    """Buries a child of ours, so that its number is freed; other processes are left alone."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def descendants(pid: int) -> list[int]:
    """Numbers of all processes below one, parents first."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdecimal() and (stat := read_stat(int(entry))):
            children.setdefault(stat.parent, []).append(int(entry))
    found, queue = [], [pid]
    while queue:
        below = children.get(queue.pop(0), [])
        found += below
        queue += below
    return found


def family(pid: int) -> list[int]:
    """As `descendants`, for looking each second: from the kernel's lists of children (proc(5)), a file for each thread
    of the family instead of one for each process of the machine. Never the whole truth about what must be ended."""
    found, queue = [], [pid]
    try:
        while queue:
            below = _children(queue.pop(0))
            found += below
            queue += below
    except _NoLists:
        return descendants(pid)
    return found


class _NoLists(Exception):
    """This kernel keeps no lists of children (CONFIG_PROC_CHILDREN)."""


def _children(pid: int) -> list[int]:
    found: set[int] = set()
    folder = f"/proc/{pid}/task"
    try:
        threads = os.listdir(folder)
    except OSError:
        return []  # It has ended.
    for thread in threads:
        text = _content(f"{folder}/{thread}/children")
        # A child that ends while the list is read can hide its neighbour (proc(5)), but hardly twice.
        if text:
            found.update(map(int, text.split()), map(int, _content(f"{folder}/{thread}/children").split()))
        elif thread == str(pid) and not os.path.exists(f"{folder}/{thread}/children") and os.path.exists(folder):
            raise _NoLists
    return sorted(found)


def _content(file: str) -> bytes:
    """Of a file that may have gone with its process: then nothing."""
    try:
        with open(file, "rb", buffering=0) as opened:
            return opened.read()
    except OSError:
        return b""


def living_in(folder: Path, programs: Path) -> list[ProcessId]:
    """Processes of a program in `programs` that work in the folder: servers that a dyno started and, killed at that
    very moment, could not write down."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdecimal():
            continue
        try:
            where, program = os.readlink(f"/proc/{entry}/cwd"), os.readlink(f"/proc/{entry}/exe")
        except OSError:
            continue
        if where == str(folder) and Path(program).parent == programs and (one := identify(int(entry))):
            found.append(one)
    return found


def kill_all(processes: Sequence[ProcessId], clock: Clock, timeout_s: float = 30.0) -> bool:
    """Whether all of them are gone."""
    for one in processes:
        send(one, signal.SIGKILL)
    return wait_gone(processes, clock, timeout_s)


def send(process: ProcessId, number: int) -> None:
    """Sends a signal unless the process is gone."""
    if alive(process):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)


def wait_gone(processes: Iterable[ProcessId], clock: Clock, timeout_s: float) -> bool:
    """Whether all of them ended within the time."""
    left = list(processes)
    deadline = clock.monotonic() + timeout_s
    while left := [process for process in left if alive(process)]:
        if clock.monotonic() >= deadline:
            return False
        clock.sleep(_WAIT_STEP_S)
    return True


def kill_tree(process: ProcessId, clock: Clock, timeout_s: float = 30.0) -> bool:
    """Kills a server and all its children at once, as a crash would. Whether all of them are gone."""
    if not alive(process):
        return True
    # Stopped first, so that it cannot start another child while the list is made.
    send(process, signal.SIGSTOP)
    tree = [process, *(one for pid in descendants(process.pid) if (one := identify(pid)))]
    return kill_all(tree, clock, timeout_s)
