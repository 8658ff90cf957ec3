"""What the machine is, read once: kernel, processor, memory, limits, file system and device under a folder.

Each fact is one file or a pure function of one file's text; what cannot be read is a fact with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from dbdyno.hosts import limits, storage
from dbdyno.model.fact import Fact, Scalar


def read_facts(
    root: Path, *, folder: Path | None = None, device: str | None = None, pids: Sequence[int] = ()
) -> list[Fact]:
    """All facts of the machine under `root`.

    `folder` is where the server keeps its data (None: not known), `device` its block device when that is known better
    than from the mount table, `pids` the server's processes, whose control groups limit it. Reads only, raises nothing.
    """
    facts = [_from_file(root, name, unit, path, parse) for name, unit, path, parse in _FILES]
    below = storage.read_facts(root, folder=folder, device=device)
    found = next((fact.value for fact in below if fact.name == "host.disk_device"), None)
    facts += limits.read_facts(root, pids=pids, device=str(found) if found else None)
    return facts + below


def _from_file(root: Path, name: str, unit: str, path: str, parse: Callable[[str], Scalar]) -> Fact:
    try:
        return Fact(name=name, unit=unit, source="/" + path, value=parse((root / path).read_text()))
    except OSError as error:
        return Fact(name=name, unit=unit, source="/" + path, unknown=error.strerror or str(error))
    except (ValueError, IndexError) as error:
        return Fact(name=name, unit=unit, source="/" + path, unknown=f"cannot be parsed: {error}")


def parse_os_release(text: str) -> str:
    """The system's name for people."""
    pairs = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    return pairs.get("PRETTY_NAME", pairs.get("NAME", "")).strip('"')


def parse_cpuinfo(text: str) -> tuple[str, int, bool]:
    """Model, number of processors, and whether a hypervisor says that it is there. Raises `ValueError`."""
    model, cores, virtual = "", 0, False
    for line in text.splitlines():
        name, _, value = (part.strip() for part in line.partition(":"))
        cores += name == "processor"
        if name in ("model name", "CPU implementer") and not model:
            model = value
        if name == "flags":
            virtual = virtual or "hypervisor" in value.split()
    if cores == 0:
        raise ValueError("no processor listed")
    return model or "not named", cores, virtual


def parse_meminfo(text: str, field: str) -> int:
    """One field of /proc/meminfo in bytes. Raises `ValueError` when it is missing."""
    for line in text.splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise ValueError(f"no {field}")


def parse_choice(text: str) -> str:
    """The chosen word of `always [madvise] never`."""
    chosen = [word.strip("[]") for word in text.split() if word.startswith("[")]
    return chosen[0] if chosen else text.strip()


def count_range(text: str) -> int:
    """How many numbers are in `0-3,8`."""
    total = 0
    for part in text.strip().split(","):
        low, _, high = part.partition("-")
        total += int(high or low) - int(low) + 1
    return total


_FILES: tuple[tuple[str, str, str, Callable[[str], Scalar]], ...] = (
    ("host.kernel", "", "proc/sys/kernel/osrelease", str.strip),
    ("host.boot_id", "", "proc/sys/kernel/random/boot_id", str.strip),
    ("host.system", "", "etc/os-release", parse_os_release),
    ("host.cpu_model", "", "proc/cpuinfo", lambda text: parse_cpuinfo(text)[0]),
    ("host.cores", "", "proc/cpuinfo", lambda text: parse_cpuinfo(text)[1]),
    ("host.virtualised", "", "proc/cpuinfo", lambda text: parse_cpuinfo(text)[2]),
    ("host.memory_bytes", "B", "proc/meminfo", lambda text: parse_meminfo(text, "MemTotal")),
    ("host.swap_bytes", "B", "proc/meminfo", lambda text: parse_meminfo(text, "SwapTotal")),
    ("host.uptime_s", "s", "proc/uptime", lambda text: float(text.split()[0])),
    ("host.load_1min", "", "proc/loadavg", lambda text: float(text.split()[0])),
    ("host.clocksource", "", "sys/devices/system/clocksource/clocksource0/current_clocksource", str.strip),
    ("host.transparent_huge_pages", "", "sys/kernel/mm/transparent_hugepage/enabled", parse_choice),
    ("host.numa_nodes", "", "sys/devices/system/node/online", count_range),
    ("host.frequency_governor", "", "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", str.strip),
    ("host.swappiness", "", "proc/sys/vm/swappiness", int),
    ("host.overcommit_memory", "", "proc/sys/vm/overcommit_memory", int),
    ("host.dirty_ratio", "%", "proc/sys/vm/dirty_ratio", int),
    ("host.dirty_background_ratio", "%", "proc/sys/vm/dirty_background_ratio", int),
    ("host.dirty_bytes", "B", "proc/sys/vm/dirty_bytes", int),
    ("host.dirty_background_bytes", "B", "proc/sys/vm/dirty_background_bytes", int),
    ("host.dirty_expire_centisecs", "", "proc/sys/vm/dirty_expire_centisecs", int),
    ("host.dirty_writeback_centisecs", "", "proc/sys/vm/dirty_writeback_centisecs", int),
    ("host.huge_pages", "", "proc/sys/vm/nr_hugepages", int),
    ("host.zone_reclaim_mode", "", "proc/sys/vm/zone_reclaim_mode", int),
)
