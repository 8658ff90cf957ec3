"""Memory: huge pages, swap, pressure, what the control group leaves, kills. Sources: proc(5), cgroup-v1, cgroup-v2.rst.

What a server in a control group may use is the group's limit, not the machine's memory.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from dbdyno.hosts import limits
from dbdyno.hosts.audit.disks import chosen, offered
from dbdyno.hosts.facts import parse_meminfo
from dbdyno.hosts.subject import Subject
from dbdyno.hosts.tree import ABSENT, Tree
from dbdyno.model.fact import Fact, Scalar

_THP = "sys/kernel/mm/transparent_hugepage"
_TMPFILES = ("etc/tmpfiles.d", "run/tmpfiles.d", "usr/lib/tmpfiles.d")
_MEMINFO = {
    "MemTotal": "memory_bytes", "MemAvailable": "memory_available_bytes", "SwapFree": "swap_free_bytes",
    "Dirty": "dirty_now_bytes", "CommitLimit": "commit_limit_bytes", "Committed_AS": "committed_bytes",
    "Shmem": "shared_memory_bytes", "PageTables": "page_tables_bytes", "Cached": "page_cache_bytes",
}  # fmt: skip


def read(tree: Tree, subject: Subject) -> list[Fact]:
    """Raises nothing."""
    facts = [
        tree.fact(f"host.mem.{name}", "proc/meminfo", partial(_size, field=key), unit="B")
        for key, name in _MEMINFO.items()
    ]
    for key, name in (
        ("HugePages_Total", "huge_total"),
        ("HugePages_Free", "huge_free"),
        ("HugePages_Rsvd", "huge_reserved"),
    ):
        facts.append(tree.fact(f"host.mem.{name}", "proc/meminfo", partial(_count, field=key)))
    facts += [
        tree.fact("host.mem.huge_page_bytes", "proc/meminfo", partial(_size, field="Hugepagesize"), unit="B"),
        tree.fact("host.thp.enabled", f"{_THP}/enabled", chosen, absent=ABSENT),
        tree.fact("host.thp.defrag", f"{_THP}/defrag", chosen, absent=ABSENT),
        tree.fact("host.thp.defrags", f"{_THP}/defrag", offered, absent=ABSENT),
        _thp_boot(tree),
        tree.fact("host.oom_kills", "proc/vmstat", parse_kills),
        tree.fact("host.swap_devices", "proc/swaps", lambda text: max(0, len(text.splitlines()) - 1), absent=0),
        tree.fact("host.zram_swap", "proc/swaps", lambda text: "/zram" in text, absent=False),
    ]
    for kind in ("memory", "io", "cpu"):
        facts.append(
            tree.fact(f"host.pressure.{kind}_some_avg60", f"proc/pressure/{kind}", parse_pressure, unit="%",
                      absent=ABSENT)
        )  # fmt: skip
    return facts + _group_facts(tree, subject)


def _thp_boot(tree: Tree) -> Fact:
    """What the next boot sets: the kernel's command line as the boot loader's files have it, then tmpfiles.d, which is
    applied later and wins. `ABSENT` when nothing does."""
    name = "host.boot.thp.enabled"
    if not tree.covers("etc"):
        return Fact(name=name, source="/etc/default/grub", unknown="the copy of the machine has no /etc")
    value, source = ABSENT, "nothing sets it"
    try:
        for path in _grub_files(tree):
            if found := re.findall(r"^[^#\n]*\btransparent_hugepage=(\w+)", tree.text(path), re.MULTILINE):
                value, source = found[-1], "/" + path
        for path in _tmpfiles(tree):
            pattern = rf"^w[+!-]*\s+/{_THP}/enabled\s+\S+\s+\S+\s+\S+\s+\S+\s+(\w+)"
            if found := re.findall(pattern, tree.text(path), re.MULTILINE):
                value, source = found[-1], "/" + path
    except OSError as error:
        return Fact(name=name, source=f"/{error.filename or 'etc'}", unknown=error.strerror or str(error))
    return Fact(name=name, source=source, value=value)


def _grub_files(tree: Tree) -> list[str]:
    files = ["etc/default/grub"] if tree.has("etc/default/grub") else []
    folder = "etc/default/grub.d"
    return files + [
        f"{folder}/{name}" for name in (tree.names(folder) if tree.has(folder) else ()) if name.endswith(".cfg")
    ]


def _tmpfiles(tree: Tree) -> list[str]:
    files: dict[str, str] = {}
    for folder in _TMPFILES:
        for name in tree.names(folder) if tree.has(folder) else ():
            if name.endswith(".conf"):
                files.setdefault(name, f"{folder}/{name}")
    return [files[name] for name in sorted(files)]


def _size(text: str, field: str) -> Scalar:
    """Bytes; `ABSENT` when this kernel does not count it."""
    parse_meminfo(text, "MemTotal")
    try:
        return parse_meminfo(text, field)
    except ValueError:
        return ABSENT


def _count(text: str, field: str) -> int:
    """A number of huge pages; 0 when the kernel has none of them."""
    parse_meminfo(text, "MemTotal")
    found = re.search(rf"^{field}:\s+(\d+)$", text, re.MULTILINE)
    return int(found[1]) if found else 0


def parse_kills(text: str) -> Scalar:
    """Processes that the kernel killed for want of memory since the boot; `ABSENT` before Linux 4.13."""
    found = re.search(r"^oom_kill (\d+)$", text, re.MULTILINE)
    if not found and "pswpin" not in text:
        raise ValueError("not a /proc/vmstat")
    return int(found[1]) if found else ABSENT


def parse_pressure(text: str) -> float:
    """Percent of the last minute in which something waited. Raises `ValueError`."""
    found = re.search(r"^some .*\bavg60=([\d.]+)", text, re.MULTILINE)
    if not found:
        raise ValueError("no average")
    return float(found[1])


def _group_facts(tree: Tree, subject: Subject) -> list[Fact]:
    """The tightest memory limit on the server (or on us), what is used of it, kills; how often it was throttled."""
    owner = str(subject.pids[0]) if subject.pids else "self"
    source = f"proc/{owner}/cgroup"
    memory: dict[str, Scalar] = {}
    try:
        groups = limits.parse_groups(tree.text(source))
        memory = _tightest(tree, groups)
        throttled: Scalar = _throttled(tree, groups)
        why = ""
    except (OSError, ValueError) as error:
        why, throttled = getattr(error, "strerror", None) or str(error), None
    values: dict[str, tuple[Scalar, str]] = {
        "limit_bytes": (memory.get("limit", "no limit"), "B"),
        "used_bytes": (memory.get("used", "no limit"), "B"),
        "kills": (memory.get("kills", 0), ""),
        "throttled_ratio": (throttled, ""),
    }
    facts = [
        Fact(name=f"host.group.{name}", unit=unit, source="/" + source, value=None if why else value, unknown=why)
        for name, (value, unit) in values.items()
    ]
    total = tree.fact("host.mem.usable_bytes", "proc/meminfo", lambda text: parse_meminfo(text, "MemTotal"), unit="B")
    limit = memory.get("limit")
    if why or total.unknown:
        unknown = why or total.unknown
        return [*facts, Fact(name=total.name, unit="B", source="/" + source if why else total.source, unknown=unknown)]
    if isinstance(limit, int) and isinstance(total.value, int) and limit < total.value:
        total = Fact(name=total.name, unit="B", source=str(memory["file"]), value=limit)
    return [*facts, total]


def _tightest(tree: Tree, groups: dict[str, str]) -> dict[str, Scalar]:
    """Of the group and its ancestors in either version, the one with the lowest limit. Raises `OSError` other than for
    a file that is not there."""
    best: dict[str, Scalar] = {}
    for folder in limits.folders(tree.root, groups, "memory"):
        for limit_file, used_file in (
            ("memory.max", "memory.current"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        ):
            text = _maybe(folder / limit_file)
            if text in ("", "max") or int(text) >= limits.UNLIMITED_BYTES:
                continue
            if not best or int(text) < int(str(best["limit"])):
                used, events = (
                    _maybe(folder / used_file),
                    _maybe(folder / "memory.events") + _maybe(folder / "memory.oom_control"),
                )
                kills = re.search(r"\boom_kill (\d+)", events)
                path = "/" + str((folder / limit_file).relative_to(tree.root))
                best = {"limit": int(text), "used": int(used) if used else ABSENT, "file": path,
                        "kills": int(kills[1]) if kills else 0}  # fmt: skip
    return best


def _throttled(tree: Tree, groups: dict[str, str]) -> float:
    """Share of the scheduler's periods in which the group or an ancestor was held back, 0 without a quota."""
    worst = 0.0
    for folder in limits.folders(tree.root, groups, "cpu"):
        text = _maybe(folder / "cpu.stat")
        found = dict(line.split()[:2] for line in text.splitlines() if len(line.split()) >= 2)
        periods = int(found.get("nr_periods", 0))
        if periods > 0:
            worst = max(worst, round(int(found.get("nr_throttled", 0)) / periods, 4))
    return worst


def _maybe(path: Path) -> str:
    """A file of the control group; empty when this version or this group does not have it."""
    try:
        return path.read_text(errors="replace").strip()
    except FileNotFoundError:
        return ""
