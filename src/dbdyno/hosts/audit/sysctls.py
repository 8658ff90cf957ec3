"""Kernel parameters: what they are now, and what the next boot makes of them.

Source: sysctl.d(5) for the order of files, Documentation/admin-guide/sysctl/*.rst and ip-sysctl.rst of the kernel for
meanings and defaults.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from dbdyno.hosts.subject import Subject
from dbdyno.hosts.tree import ABSENT, Tree
from dbdyno.model.fact import Fact, Scalar

FOLDERS = ("etc/sysctl.d", "run/sysctl.d", "usr/local/lib/sysctl.d", "usr/lib/sysctl.d", "lib/sysctl.d")
"""Highest priority first: of two files of one name only the first is read."""
LAST_FILE = "etc/sysctl.conf"
"""Read after all others by `sysctl --system`; some systems link it as 99-sysctl.conf for the same effect."""

KEYS: dict[str, Scalar] = {
    "fs.aio-max-nr": 65536,
    "fs.aio-nr": None,
    "fs.file-max": None,
    "fs.file-nr": None,
    "fs.nr_open": 1048576,
    "kernel.core_pattern": None,
    "kernel.numa_balancing": None,
    "kernel.randomize_va_space": 2,
    "kernel.sched_autogroup_enabled": None,
    "kernel.shmall": None,
    "kernel.shmmax": None,
    "net.core.netdev_max_backlog": 1000,
    "net.core.rmem_max": 212992,
    "net.core.somaxconn": None,
    "net.core.wmem_max": 212992,
    "net.ipv4.ip_local_port_range": "32768\t60999",
    "net.ipv4.tcp_fin_timeout": 60,
    "net.ipv4.tcp_keepalive_intvl": 75,
    "net.ipv4.tcp_keepalive_probes": 9,
    "net.ipv4.tcp_keepalive_time": 7200,
    "net.ipv4.tcp_max_syn_backlog": None,
    "net.ipv4.tcp_retries2": 15,
    "net.ipv4.tcp_rmem": None,
    "net.ipv4.tcp_slow_start_after_idle": 1,
    "net.ipv4.tcp_syncookies": 1,
    "net.ipv4.tcp_tw_recycle": 0,
    "net.ipv4.tcp_tw_reuse": None,
    "net.ipv4.tcp_wmem": None,
    "net.netfilter.nf_conntrack_count": None,
    "net.netfilter.nf_conntrack_max": None,
    "vm.dirty_background_bytes": 0,
    "vm.dirty_background_ratio": 10,
    "vm.dirty_bytes": 0,
    "vm.dirty_expire_centisecs": 3000,
    "vm.dirty_ratio": 20,
    "vm.dirty_writeback_centisecs": 500,
    "vm.max_map_count": 65530,
    "vm.min_free_kbytes": None,
    "vm.nr_hugepages": 0,
    "vm.overcommit_memory": 0,
    "vm.overcommit_ratio": 50,
    "vm.swappiness": 60,
    "vm.vfs_cache_pressure": 100,
    "vm.zone_reclaim_mode": None,
}
"""Keys that the audit reads, with the kernel's default where it is the same on every machine (None: it is not)."""

OPTIONAL = frozenset(
    {
        "kernel.numa_balancing", "kernel.sched_autogroup_enabled", "net.ipv4.tcp_syncookies", "net.ipv4.tcp_tw_recycle",
        "net.ipv4.tcp_tw_reuse", "net.netfilter.nf_conntrack_count", "net.netfilter.nf_conntrack_max",
        "vm.zone_reclaim_mode",
    }
)  # fmt: skip
"""Keys that a kernel may lack, by its version, its build or its modules. Another one that is missing was not seen."""

TEXTS = frozenset(
    {
        "fs.file-nr", "kernel.core_pattern", "kernel.shmall", "kernel.shmmax", "net.ipv4.ip_local_port_range",
        "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem",
    }
)  # fmt: skip
"""Keys that are not one number."""

_ASSIGNMENT = re.compile(r"^-?\s*([\w.*/-]+)\s*=\s*(.*?)\s*$")


def read(tree: Tree, _subject: Subject) -> list[Fact]:
    """Raises nothing."""
    facts = []
    unreadable: list[str] = []
    set_at_boot = boot_values(tree, unreadable)
    for key, default in KEYS.items():
        path = "proc/sys/" + key.replace(".", "/")
        absent = ABSENT if key in OPTIONAL else None
        live = tree.fact(f"host.sysctl.{key}", path, functools.partial(_parse, key), absent=absent)
        facts += [live, _boot_fact(tree, key, default, set_at_boot, unreadable)]
    return facts


def _boot_fact(
    tree: Tree, key: str, default: Scalar, set_at_boot: dict[str, tuple[str, str]], unreadable: list[str]
) -> Fact:
    """Unknown when a file that might set it cannot be read. `ABSENT` when no file sets it and the default varies."""
    name = f"host.boot.sysctl.{key}"
    if not tree.covers("etc"):
        return Fact(name=name, source="/etc/sysctl.d", unknown="the copy of the machine has no /etc")
    if unreadable:
        return Fact(name=name, source="/etc/sysctl.d", unknown="; ".join(unreadable))
    if key in set_at_boot:
        value, source = set_at_boot[key]
        try:
            return Fact(name=name, source=source, value=_parse(key, value))
        except ValueError as error:
            return Fact(name=name, source=source, unknown=f"cannot be parsed: {error}")
    return Fact(name=name, source="kernel default", value=ABSENT if default is None else default)


def boot_values(tree: Tree, unreadable: list[str]) -> dict[str, tuple[str, str]]:
    """Value and `/file:line` by key as the next boot sets them; files that may not be read are told in `unreadable`."""
    found: dict[str, tuple[str, str]] = {}
    for path in files_in_order(tree, unreadable):
        try:
            lines = tree.text(path).splitlines()
        except FileNotFoundError:
            continue
        except OSError as error:
            unreadable.append(f"/{path}: {error.strerror}")
            continue
        for number, line in enumerate(lines, start=1):
            if assignment := parse_line(line):
                # The order is that of the last assignments.
                found.pop(assignment[0], None)
                found[assignment[0]] = (assignment[1], f"/{path}:{number}")
    # Of the two forms of a limit only the one that was written last is in force.
    for limit in ("vm.dirty", "vm.dirty_background"):
        _last_of(found, f"{limit}_bytes", f"{limit}_ratio")
    return found


def _last_of(found: dict[str, tuple[str, str]], one: str, other: str) -> None:
    order = list(found)
    for key, rival in ((one, other), (other, one)):
        if key not in found or found[key][0] == "0":
            continue
        if rival not in found or order.index(rival) < order.index(key) or found[rival][0] == "0":
            found[rival] = ("0", found[key][1])


def files_in_order(tree: Tree, unreadable: list[str]) -> Iterator[str]:
    """All files of sysctl.d in the order in which a boot reads them, /etc/sysctl.conf last."""
    first: dict[str, str] = {}
    for folder in FOLDERS:
        try:
            names = tree.names(folder)
        except FileNotFoundError:
            continue
        except OSError as error:
            unreadable.append(f"/{folder}: {error.strerror}")
            continue
        for name in names:
            if name.endswith(".conf"):
                first.setdefault(name, f"{folder}/{name}")
    yield from (first[name] for name in sorted(first))
    yield LAST_FILE


def parse_line(line: str) -> tuple[str, str] | None:
    """Key with dots, and value, of one line; None for comments and what is none."""
    text = line.strip()
    if not text or text[0] in "#;":
        return None
    found = _ASSIGNMENT.match(text)
    return (found[1].replace("/", "."), found[2]) if found else None


def _parse(key: str, text: str) -> Scalar:
    """A value of that key; all but a few are whole numbers. Raises `ValueError`."""
    value = parse_value(text)
    if key not in TEXTS and not isinstance(value, int):
        raise ValueError(f"no number: {text.strip()[:40]!r}")
    return value


def parse_value(text: str) -> Scalar:
    """A whole number where it is one; several are text with single tabs, as the kernel writes them."""
    words = text.split()
    if len(words) == 1:
        try:
            return int(words[0])
        except ValueError:
            return words[0]
    return "\t".join(words)
