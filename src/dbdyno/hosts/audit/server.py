"""The running server's process: limits, open files, memory, allocator, its unit. Source: proc(5).

Another user's process shows its limits and status to everybody, its memory map and open files only to root.
"""

from __future__ import annotations

import configparser
import posixpath
import re
from functools import partial

from dbdyno.hosts.subject import Subject
from dbdyno.hosts.tree import ABSENT, Tree, unknowns
from dbdyno.model.fact import Fact, Scalar

UNLIMITED = "unlimited"
LIMITS = {
    "Max open files": ("nofile", "LimitNOFILE"),
    "Max processes": ("nproc", "LimitNPROC"),
    "Max locked memory": ("memlock", "LimitMEMLOCK"),
    "Max core file size": ("core", "LimitCORE"),
}
"""Names in /proc/<pid>/limits: ours, and the unit's setting."""
ALLOCATORS = ("jemalloc", "tcmalloc", "mimalloc")
_STATUS = {"VmRSS": "resident_bytes", "VmSwap": "swapped_bytes", "VmLck": "locked_bytes", "HugetlbPages": "huge_bytes"}
_ALONE = (
    "pid", "oom_score_adj", "open_files", "allocator", "numa_policy", "unit", "program", "threads", "user",
)  # fmt: skip
_UNIT_FOLDERS = ("etc/systemd/system", "run/systemd/system", "usr/lib/systemd/system", "lib/systemd/system")


def read(tree: Tree, subject: Subject) -> list[Fact]:
    """Raises nothing."""
    if not subject.pids:
        limits = (f"limit.{ours}{end}" for ours, _ in LIMITS.values() for end in ("", "_max"))
        names = (*_ALONE, *_STATUS.values(), *limits)
        why = "the server's process is not known on this machine"
        return unknowns(tuple(f"host.server.{name}" for name in names), "/proc", why)
    pid = subject.pids[0]
    folder = f"proc/{pid}"
    facts = [
        Fact(name="host.server.pid", source=f"/{folder}", value=pid),
        tree.fact("host.server.oom_score_adj", f"{folder}/oom_score_adj", int),
        tree.attempt("host.server.open_files", f"{folder}/fd", lambda: len(tree.names(f"{folder}/fd"))),
        tree.fact("host.server.allocator", f"{folder}/maps", parse_allocator),
        tree.fact("host.server.numa_policy", f"{folder}/numa_maps", parse_numa_policy, absent=ABSENT),
        tree.fact("host.server.program", f"{folder}/comm"),
        tree.fact("host.server.threads", f"{folder}/status", lambda text: int(field(text, "Threads"))),
    ]
    facts.append(tree.attempt("host.server.user", f"{folder}/status", lambda: _user(tree, folder)))
    facts += [
        tree.fact(f"host.server.{name}", f"{folder}/status", partial(status_bytes, name=key), unit="B")
        for key, name in _STATUS.items()
    ]
    for theirs, (ours, _) in LIMITS.items():
        for index, end in ((0, ""), (1, "_max")):
            facts.append(
                tree.fact(f"host.server.limit.{ours}{end}", f"{folder}/limits",
                          lambda text, theirs=theirs, index=index: parse_limit(text, theirs)[index])  # type: ignore[misc]
            )  # fmt: skip
    return facts + _unit_facts(tree, pid)


def _user(tree: Tree, folder: str) -> str:
    """Name of the user that the process runs as; the number when no name is known for it."""
    number = field(tree.text(f"{folder}/status"), "Uid").split()[0]
    try:
        users = (line.split(":") for line in tree.text("etc/passwd").splitlines())
        return next((words[0] for words in users if len(words) > 2 and words[2] == number), number)
    except OSError:
        return number


def _unit_facts(tree: Tree, pid: int) -> list[Fact]:
    """The systemd unit that the process belongs to, and what limits its files give the next start."""
    unit = tree.fact("host.server.unit", f"proc/{pid}/cgroup", parse_unit)
    facts = [unit]
    names = [(f"host.boot.limit.{ours}", setting) for ours, setting in LIMITS.values()]
    names.append(("host.boot.oom_score_adj", "OOMScoreAdjust"))
    if unit.unknown or unit.value == ABSENT:
        why = unit.unknown or "the server is in no unit of systemd: who starts it sets its limits"
        return facts + unknowns(tuple(name for name, _ in names), unit.source, why)
    try:
        settings = unit_settings(tree, str(unit.value))
    except (OSError, ValueError) as error:
        return facts + unknowns(tuple(name for name, _ in names), "/etc/systemd", str(error))
    for name, setting in names:
        value, source = settings.get(setting, (ABSENT, "systemd's default"))
        facts.append(Fact(name=name, source=source, value=value))
    return facts


def unit_settings(tree: Tree, unit: str) -> dict[str, tuple[str, str]]:
    """Value and file by setting of the unit's [Service], drop-ins included. Raises `OSError`, `ValueError`."""
    main = next((f"{folder}/{unit}" for folder in _UNIT_FOLDERS if tree.has(f"{folder}/{unit}")), None)
    if main is None:
        raise ValueError(f"no file of the unit {unit}")
    drops: dict[str, str] = {}
    for folder in _UNIT_FOLDERS:
        if tree.has(f"{folder}/{unit}.d"):
            for name in tree.names(f"{folder}/{unit}.d"):
                if name.endswith(".conf"):
                    drops.setdefault(name, f"{folder}/{unit}.d/{name}")
    found: dict[str, tuple[str, str]] = {}
    for path in (main, *(drops[name] for name in sorted(drops))):
        for name, value in parse_service(tree.text(path)).items():
            found[name] = (value, "/" + path)
    return found


def parse_service(text: str) -> dict[str, str]:
    """Settings of [Service]; of one that stands there twice the last. Raises `ValueError`."""
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True, delimiters=("=",), comment_prefixes="#;")
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise ValueError(f"not a unit: {error}") from None
    return {k: (v or "") for k, v in parser.items("Service")} if parser.has_section("Service") else {}


def parse_unit(text: str) -> str:
    """The service that a process belongs to, from /proc/<pid>/cgroup of either version."""
    for line in text.splitlines():
        name = posixpath.basename(line.split(":", 2)[-1])
        if name.endswith(".service") and not name.startswith("user@"):
            return name
    return ABSENT


def parse_limit(text: str, name: str) -> tuple[Scalar, Scalar]:
    """Soft and hard limit. Raises `ValueError`."""
    for line in text.splitlines():
        if line.startswith(name + " "):
            words = line[len(name) :].split()
            soft, hard = (word if word == UNLIMITED else int(word) for word in words[:2])
            return soft, hard
    raise ValueError(f"no {name}")


def field(text: str, name: str) -> str:
    """One line of /proc/<pid>/status. Raises `KeyError`."""
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return value.strip()
    raise KeyError(name)


def status_bytes(text: str, name: str) -> int:
    """A size in bytes; old kernels lack some, and then none of it can be there."""
    try:
        return int(field(text, name).split()[0]) * 1024
    except KeyError:
        field(text, "Name")
        return 0


def parse_allocator(text: str) -> str:
    """Which library serves the program's `malloc`, by the files that are mapped. One that was linked in is not seen:
    then it looks like the C library's. Raises `ValueError` for an empty map (a kernel thread, a process that ended)."""
    if not text.strip():
        raise ValueError("empty memory map")
    for name in ALLOCATORS:
        if re.search(rf"/lib{name}[^/\s]*\.so", text):
            return name
    return "musl" if re.search(r"/(ld|libc\.)?-?musl", text) else "libc"


def parse_numa_policy(text: str) -> str:
    """Policy of most mappings: `default`, `interleave`, `bind`, `prefer`. Raises `ValueError`."""
    counts: dict[str, int] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) > 1:
            policy = words[1].partition(":")[0].partition("=")[0]
            counts[policy] = counts.get(policy, 0) + 1
    if not counts:
        raise ValueError("empty")
    return max(counts, key=lambda name: counts[name])
