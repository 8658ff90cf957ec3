"""Backups, copies, upkeep and jobs of the clock that run beside the server: when they began, and while they are there.

Source: /proc/<pid>/stat (proc(5)), which everybody may read. A job is known by its name (jobs.toml) or because a
scheduler started it. It shows only while it runs, at a look every few seconds, but says itself when it began.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.hosts.processes import content, newest
from dbdyno.hosts.registry import Rows, Watch
from dbdyno.model.probe import Column, ColumnKind, Probe

_PROCESSES_MAX = 400
"""The newest are looked at, for each costs a file."""
_SHOWN = 32
_SERVICE_S = 86_400.0
"""What has run for a day is a service, whatever its name."""
_NAME_LETTERS = 15
"""More of a name the kernel does not keep."""
_ANCESTORS_MAX = 16
CLOCK = "cron"

PROBE = Probe(
    name="jobs",
    title="Jobs beside the server",
    cost="one file for each process of the machine, at most 400",
    every_s=5.0,
    columns=(
        Column(name="job", kind=ColumnKind.KEY, help="name of the program; those of one name are one job"),
        Column(name="kind", kind=ColumnKind.TEXT, help="backup, copy, compression, upkeep, or cron"),
        Column(name="processes", kind=ColumnKind.GAUGE, help="how many run"),
        Column(name="age_s", kind=ColumnKind.GAUGE, unit="s", role="job_age_s", help="since the oldest began"),
    ),
)


@dataclass(frozen=True)
class Process:
    pid: int
    name: str
    parent: int
    started_s: float
    """Since the start of the machine."""


def read(root: Path, watch: Watch) -> Rows:
    """A row for each job. A process that ends meanwhile is left out. Raises `OSError` when none is to be seen."""
    uptime_s = float((root / "proc/uptime").read_text().split()[0])
    known = {pid for pids in watch.processes.values() for pid in pids}
    found = []
    for pid in newest(root, _PROCESSES_MAX):
        try:
            text = content(root, pid, "stat")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if pid not in known and text:
            found.append(parse(text, ticks_per_s=watch.ticks_per_s))
    return jobs_of(found, uptime_s, {**names(), **watch.jobs})


def parse(text: str, *, ticks_per_s: int = 100) -> Process:
    """Raises `ValueError` when it is not a /proc/<pid>/stat."""
    # The name may hold blanks and brackets: fields begin after its last bracket.
    head, _, rest = text.rpartition(")")
    pid, _, name = head.partition(" (")
    fields = rest.split()
    if len(fields) < 20:
        raise ValueError("not a /proc/<pid>/stat")
    return Process(int(pid), name, int(fields[1]), int(fields[19]) / ticks_per_s)


@functools.cache
def names() -> Mapping[str, str]:
    """Kind by name, of the programs that are no engine's; `schedulers` and `shells` are kinds among them."""
    kinds = tomllib.loads((Path(__file__).parent / "jobs.toml").read_text())
    return {name: kind for kind, listed in kinds.items() for name in listed}


def jobs_of(processes: Sequence[Process], uptime_s: float, kinds: Mapping[str, str]) -> Rows:
    """The jobs among the processes, the oldest first. Pure."""
    known = {name[:_NAME_LETTERS]: kind for name, kind in kinds.items()}
    by_pid = {one.pid: one for one in processes}
    parents = {one.parent for one in processes}
    found: dict[str, tuple[str, int, float]] = {}
    for one in processes:
        kind = known.get(one.name, "")
        if kind in ("", "shells") and _of_scheduler(one, by_pid, known):
            # The work, not the shells that lead to it: a shell is the work only when it started nothing.
            kind = "" if kind and one.pid in parents else CLOCK
        age_s = max(0.0, uptime_s - one.started_s)
        if kind in ("", "schedulers", "shells") or age_s > _SERVICE_S:
            continue
        _, number, oldest_s = found.get(one.name, (kind, 0, 0.0))
        found[one.name] = (kind, number + 1, max(oldest_s, age_s))
    oldest = sorted(found.items(), key=lambda item: -item[1][2])[:_SHOWN]
    return [
        {"job": name, "kind": kind, "processes": number, "age_s": round(age_s, 2)}
        for name, (kind, number, age_s) in oldest
    ]


def _of_scheduler(one: Process, by_pid: Mapping[int, Process], known: Mapping[str, str]) -> bool:
    """Whether a scheduler is among those that started it."""
    above = by_pid.get(one.parent)
    for _ in range(_ANCESTORS_MAX):
        if above is None:
            return False
        if known.get(above.name) == "schedulers":
            return True
        above = by_pid.get(above.parent)
    return False
