"""Processors, their clocks and memory nodes. Sources: cpufreq.rst of the kernel, numa(7)."""

from __future__ import annotations

import re

from dbdyno.hosts.subject import Subject
from dbdyno.hosts.tree import ABSENT, Tree
from dbdyno.model.fact import Fact, Scalar

_VENDORS = re.compile(
    r"qemu|kvm|vmware|virtualbox|xen|amazon ec2|google compute|microsoft corporation virtual|openstack|bochs|parallels|"
    r"alibaba cloud|digitalocean|hetzner vserver|nutanix|rhev|bhyve|firecracker",
    re.IGNORECASE,
)
_METAL = re.compile(r"\.metal\b|bare ?metal", re.IGNORECASE)
_NODE = "sys/devices/system/node"
_CPU = "sys/devices/system/cpu"


def read(tree: Tree, _subject: Subject) -> list[Fact]:
    """Raises nothing."""
    return [
        tree.attempt("host.virtual", "proc/cpuinfo", lambda: is_virtual_machine(tree)),
        tree.attempt("host.governor", f"{_CPU}/cpu0/cpufreq/scaling_governor", lambda: _governors(tree), absent=ABSENT),
        tree.fact("host.governors", f"{_CPU}/cpu0/cpufreq/scaling_available_governors", absent=ABSENT),
        tree.fact("host.frequency_driver", f"{_CPU}/cpu0/cpufreq/scaling_driver", absent=ABSENT),
        tree.fact("host.frequency_now_mhz", "proc/cpuinfo", clock_mhz, unit="MHz"),
        tree.attempt("host.frequency_nominal_mhz", "proc/cpuinfo", lambda: _nominal_mhz(tree), unit="MHz"),
        tree.fact("host.clocksources", "sys/devices/system/clocksource/clocksource0/available_clocksource"),
        tree.attempt("host.numa_imbalance_ratio", f"{_NODE}/node0/meminfo", lambda: _imbalance(tree), absent=0.0),
        tree.attempt("host.numa_free_bytes_min", f"{_NODE}/node0/meminfo", lambda: min(_free(tree)), unit="B",
                     absent=ABSENT),
    ]  # fmt: skip


def is_virtual_machine(tree: Tree) -> bool:
    """The processor's flag on x86, the firmware's names elsewhere. Raises `OSError`."""
    if re.search(r"^flags\s*:.*\bhypervisor\b", tree.text("proc/cpuinfo"), re.MULTILINE):
        return True
    names = []
    for path in ("sys/class/dmi/id/sys_vendor", "sys/class/dmi/id/product_name", "sys/hypervisor/type"):
        try:
            names.append(tree.text(path).strip())
        except FileNotFoundError:
            continue
    words = " ".join(names)
    return bool(_VENDORS.search(words)) and not _METAL.search(words)


def _governors(tree: Tree) -> str:
    """The governor of all processors, or all that there are with commas."""
    found = {
        tree.text(f"{_CPU}/{name}/cpufreq/scaling_governor").strip()
        for name in tree.names(_CPU)
        if re.fullmatch(r"cpu\d+", name) and tree.has(f"{_CPU}/{name}/cpufreq/scaling_governor")
    }
    return ",".join(sorted(found)) or tree.text(f"{_CPU}/cpu0/cpufreq/scaling_governor").strip()


def clock_mhz(text: str) -> Scalar:
    """Median clock of the processors at this moment; `ABSENT` where the kernel does not tell (arm64)."""
    found = [float(number) for number in re.findall(r"^cpu MHz\s*:\s*([\d.]+)", text, re.MULTILINE)]
    return round(_median(found), 1) if found else ABSENT


def _median(values: list[float]) -> float:
    """Without the module `statistics`, which takes longer to load than this whole audit of the machine."""
    ordered, middle = sorted(values), len(values) // 2
    return ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def _nominal_mhz(tree: Tree) -> Scalar:
    """From the model's name (`@ 2.40GHz`), else the driver's base clock; `ABSENT` when neither tells."""
    named = re.search(r"@\s*([\d.]+)\s*GHz", tree.text("proc/cpuinfo"))
    if named:
        return round(float(named[1]) * 1000, 1)
    try:
        return int(tree.text(f"{_CPU}/cpu0/cpufreq/base_frequency")) / 1000
    except FileNotFoundError:
        return ABSENT


def _free(tree: Tree) -> list[int]:
    """Free bytes of each memory node."""
    nodes = [name for name in tree.names(_NODE) if re.fullmatch(r"node\d+", name)]
    return [_node_bytes(tree.text(f"{_NODE}/{node}/meminfo"), "MemFree") for node in nodes]


def _imbalance(tree: Tree) -> float:
    """Largest difference between nodes in the share of memory that is used, 0 to 1."""
    nodes = [name for name in tree.names(_NODE) if re.fullmatch(r"node\d+", name)]
    used = []
    for node in nodes:
        text = tree.text(f"{_NODE}/{node}/meminfo")
        if (total := _node_bytes(text, "MemTotal")) > 0:
            used.append(1 - _node_bytes(text, "MemFree") / total)
    return round(max(used) - min(used), 4) if used else 0.0


def _node_bytes(text: str, field: str) -> int:
    found = re.search(rf"\b{field}:\s*(\d+) kB", text)
    if not found:
        raise ValueError(f"no {field}")
    return int(found[1]) * 1024
