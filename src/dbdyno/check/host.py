"""What the machine under a server is like: this one, another one over SSH, or a copy of its files."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from dbdyno.check.limited import Limited
from dbdyno.check.remote import Fetch
from dbdyno.check.result import Problem
from dbdyno.check.scratch import scratch_folder
from dbdyno.hosts.audit import read_facts
from dbdyno.hosts.subject import Subject
from dbdyno.hosts.where import LOCAL, UNKNOWN, HostAt, find_host
from dbdyno.model.clock import Clock
from dbdyno.model.errors import DynoError
from dbdyno.model.fact import Fact
from dbdyno.model.facts import Facts

__all__ = ["LOCAL", "UNKNOWN", "HostAt", "find_host", "limit_fact", "read_host", "subject_of"]


def subject_of(facts: Facts, root: Path) -> Subject:
    """The server's folders and process as the server itself names them; a pid holds only on the machine itself."""
    data, log, pid = (_text(facts, f"server.{name}") for name in ("data_directory", "log_directory", "pid"))
    return Subject(
        data_dir=Path(data) if data else None,
        log_dir=Path(log) if log else None,
        pids=(int(pid),) if pid.isdigit() and (root / "proc" / pid).exists() else (),
    )


def _text(facts: Facts, name: str) -> str:
    fact = facts.find(name)
    return "" if fact is None or fact.unknown or fact.value is None else str(fact.value)


def read_host(
    host: HostAt,
    server: Iterable[Fact],
    *,
    clock: Clock,
    seconds: float,
    timeout_s: float,
    token: str,
    files: Callable[[Path, Facts], Iterable[Fact]] | None = None,
) -> tuple[list[Fact], list[Problem]]:
    """All facts of the machine, and what went wrong. `files` reads the server's own files there (an engine's). `token`
    is a random word that marks the ends of fetched files. Raises nothing."""
    known = Facts(server)
    facts: list[Fact] = []

    def read() -> None:
        with _root_of(host, known, timeout_s, token) as root:
            for fact in read_facts(root, subject_of(known, root), clock=clock, seconds=seconds):
                facts.append(fact)
            if files is not None and host.ssh is None:
                facts.extend(files(root, known))

    try:
        Limited(read).result(timeout_s + seconds)
    except TimeoutError:
        what = f"The machine {host.label} was not read within {timeout_s:g} s."
        todo = "look whether it hangs, or give it longer with --timeout"
        return facts, [Problem(source="host", what=what, found=f"{len(facts)} facts came in time", todo=todo,
                               fatal=not facts)]  # fmt: skip
    except DynoError as error:
        return facts, [Problem(source="host", what=error.what, found=error.found, todo=error.todo, fatal=not facts)]
    return facts, []


@contextlib.contextmanager
def _root_of(host: HostAt, known: Facts, timeout_s: float, token: str) -> Iterator[Path]:
    if host.ssh is None:
        assert host.root is not None, "an unknown machine is not read"
        yield host.root
        return
    fetched = Fetch(token=token, pid=_text(known, "server.pid")).over_ssh(host.ssh, timeout_s)
    with scratch_folder("host") as folder:
        fetched.write_below(folder)
        yield folder


def limit_fact(facts: Facts) -> Fact:
    """The memory that the server may use: the machine's, or the smallest limit of its control groups."""
    name, unit = "server.memory_limit_bytes", "B"
    sizes, sources = [], []
    for source in ("host.memory_bytes", "host.cgroup_memory_bytes"):
        fact = facts.find(source)
        if fact is not None and not fact.unknown and isinstance(fact.value, int | float):
            sizes.append(int(fact.value))
            sources.append(source)
    if "host.memory_bytes" not in sources:
        return Fact(name=name, unit=unit, unknown="the machine's memory is not known: give --host")
    return Fact(name=name, unit=unit, source=" and ".join(sources), value=min(sizes))
