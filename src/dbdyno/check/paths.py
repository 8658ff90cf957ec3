"""Which files of a machine are fetched."""

from __future__ import annotations

import importlib
import importlib.util

_FOUND = importlib.import_module("dbdyno.hosts.paths") if importlib.util.find_spec("dbdyno.hosts.paths") else None
PATTERNS: tuple[str, ...] = getattr(_FOUND, "PATTERNS", (
    "proc/sys/kernel/osrelease", "proc/sys/vm/*", "proc/cpuinfo", "proc/meminfo", "proc/uptime", "proc/loadavg",
    "proc/self/mountinfo", "proc/{pid}/cgroup", "proc/{pid}/limits", "etc/os-release",
    "sys/kernel/mm/transparent_hugepage/*", "sys/block/*/queue/*", "sys/block/*/size",
    "sys/devices/system/node/online", "sys/devices/system/cpu/cpu0/cpufreq/*",
    "sys/devices/system/clocksource/clocksource0/current_clocksource", "sys/fs/cgroup/*",
))  # fmt: skip
LINKS: tuple[str, ...] = getattr(_FOUND, "LINKS", ("sys/dev/block/*", "sys/block/*"))
