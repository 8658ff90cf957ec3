"""Kernel and libraries, clock, security modules, network tables, other programs on the machine.

Sources: proc(5), timesyncd and chrony manuals for the traces that they leave, selinux(8), apparmor(7).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dbdyno.hosts.facts import parse_meminfo
from dbdyno.hosts.subject import Subject
from dbdyno.hosts.tree import ABSENT, Tree, unknowns
from dbdyno.model.fact import Fact, Scalar

TIME_DAEMONS = ("chronyd", "ntpd", "systemd-timesyncd", "systemd-timesyn", "openntpd", "ptp4l", "phc2sys")
"""Names in /proc/<pid>/comm are cut off after 15 bytes."""
GUEST_TOOLS = ("vmtoolsd", "VBoxService", "qemu-ga", "hv_utils")
_PAGE_BYTES = 4096
_PROCESSES_MAX = 20_000


@dataclass(frozen=True)
class Process:
    """What everybody may see of a process."""

    pid: int
    name: str
    parent: int
    resident_bytes: int


def read(tree: Tree, subject: Subject) -> list[Fact]:
    """Raises nothing."""
    return [
        tree.fact("host.kernel_version", "proc/sys/kernel/osrelease", lambda text: kernel_version(text)[0]),
        tree.fact("host.kernel_patch", "proc/sys/kernel/osrelease", lambda text: kernel_version(text)[1]),
        tree.fact("host.kernel_build", "proc/sys/kernel/version", absent=ABSENT),
        tree.fact("host.kernel_arguments", "proc/cmdline"),
        tree.attempt("host.glibc", "lib", lambda: _glibc(tree), absent=ABSENT),
        tree.fact("host.selinux", "sys/fs/selinux/enforce", lambda t: "enforcing" if t.strip() == "1" else "permissive",
                  absent="disabled"),
        tree.fact("host.apparmor", "sys/module/apparmor/parameters/enabled",
                  lambda text: "enabled" if text.strip() == "Y" else "disabled", absent="disabled"),
        tree.fact("host.listen_overflows", "proc/net/netstat", lambda text: netstat(text, "ListenOverflows")),
        tree.fact("host.time_sync_mark", "run/systemd/timesync/synchronized", lambda _: "synchronised", absent=ABSENT),
        tree.fact("host.zfs_cache_bytes_max", "sys/module/zfs/parameters/zfs_arc_max", int, unit="B", absent=ABSENT),
        tree.fact("host.zfs_cache_bytes", "proc/spl/kstat/zfs/arcstats", arc_size, unit="B", absent=ABSENT),
        *_process_facts(tree, subject),
    ]  # fmt: skip


def kernel_version(text: str) -> tuple[float, int]:
    """`6.1.0-13-amd64` is 6.001 and 0: two digits of precision are too few for 3.10. Raises `ValueError`."""
    found = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", text.strip())
    if not found:
        raise ValueError(f"no version: {text.strip()[:40]!r}")
    return int(found[1]) + int(found[2]) / 1000, int(found[3] or 0)


def _glibc(tree: Tree) -> str:
    """From the library's own file name, or the package's folder of documents. Raises `FileNotFoundError`."""
    for folder in ("lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "lib64", "usr/lib64", "usr/lib"):
        try:
            names = tree.names(folder)
        except OSError:
            continue
        for name in names:
            if found := re.fullmatch(r"libc-(\d+\.\d+)\.so", name):
                return found[1]
            if name == "libc.so.6" and (version := _glibc_inside(tree, f"{folder}/{name}")):
                return version
    raise FileNotFoundError(2, "no C library of GNU under /lib")


def _glibc_inside(tree: Tree, path: str) -> str:
    """The banner that is compiled into the library."""
    try:
        found = re.search(r"GNU C Library .*? version (\d+\.\d+)", tree.text(path))
    except OSError:
        return ""
    return found[1] if found else ""


def netstat(text: str, name: str) -> int:
    """A counter of /proc/net/netstat: pairs of lines, names above numbers. Raises `KeyError`."""
    lines = text.splitlines()
    for names, values in zip(lines[::2], lines[1::2], strict=False):
        table = dict(zip(names.split(), values.split(), strict=False))
        if name in table:
            return int(table[name])
    raise KeyError(name)


def arc_size(text: str) -> int:
    """Bytes that the cache of ZFS holds. Raises `ValueError`."""
    found = re.search(r"^size\s+\d+\s+(\d+)$", text, re.MULTILINE)
    if not found:
        raise ValueError("no size")
    return int(found[1])


def _process_facts(tree: Tree, subject: Subject) -> list[Fact]:
    names = ("host.time_daemons", "host.guest_tools", "host.neighbours", "host.neighbours_bytes", "host.twins")
    try:
        processes = _processes(tree)
        memory_bytes = parse_meminfo(tree.text("proc/meminfo"), "MemTotal")
    except (OSError, ValueError) as error:
        return unknowns(names, "/proc", getattr(error, "strerror", None) or str(error))
    own = _family(processes, subject.pids)
    others = [one for one in processes if one.pid not in own]
    large = [one for one in others if one.resident_bytes * 20 >= memory_bytes]
    large.sort(key=lambda one: -one.resident_bytes)
    server = next((one.name for one in processes if one.pid in subject.pids), None)
    names_of = {one.pid: one.name for one in processes}
    # A server's own children are called like it: only the first of each family counts.
    first = [one for one in others if one.name == server and names_of.get(one.parent) != server]
    twins: Scalar = len(first) if server else None
    values: dict[str, Scalar] = {
        "host.time_daemons": " ".join(sorted({one.name for one in others if one.name in TIME_DAEMONS})),
        "host.guest_tools": " ".join(sorted({one.name for one in others if one.name in GUEST_TOOLS})),
        "host.neighbours": " ".join(one.name for one in large[:5]),
        "host.neighbours_bytes": sum(one.resident_bytes for one in large),
    }
    facts = [Fact(name=name, source="/proc", value=value) for name, value in values.items()]
    why = "" if server else "the server's process is not known on this machine"
    return [*facts, Fact(name="host.twins", source="/proc", value=twins, unknown=why)]


def _processes(tree: Tree) -> list[Process]:
    """Raises `OSError` when processes cannot be listed, and when they are hidden (/proc mounted with hidepid)."""
    found = []
    for count, pid in enumerate(tree.processes()):
        if count >= _PROCESSES_MAX:
            break
        try:
            found.append(parse_process(pid, tree.text(f"proc/{pid}/stat")))
        except (FileNotFoundError, ProcessLookupError, ValueError, IndexError):
            continue
    if not any(one.pid == 1 for one in found):
        raise PermissionError(1, "the first process is not shown: /proc hides the processes of others")
    return found


def parse_process(pid: int, text: str) -> Process:
    """From /proc/<pid>/stat. Raises `ValueError`, `IndexError`."""
    name = text[text.index("(") + 1 : text.rindex(")")]
    fields = text[text.rindex(")") + 1 :].split()
    return Process(pid, name, int(fields[1]), int(fields[21]) * _PAGE_BYTES)


def _family(processes: list[Process], pids: tuple[int, ...]) -> set[int]:
    """The server's processes and all that descend from them."""
    own = set(pids)
    grew = True
    while grew:
        children = {one.pid for one in processes if one.parent in own} - own
        grew = bool(children)
        own |= children
    return own
