"""HOST015: the kernel keeps too much or too little memory free

What it checks: vm.min_free_kbytes is at most 5 percent of memory, and not below 16 MiB on a machine with 4 GiB or
more.

Why it matters: what the kernel keeps free is lost to everybody: an overdone value has brought machines to killing
programs with memory to spare. With too little, bursts of network and disk traffic find none and fail or stall.

Remedy: about 1 percent of memory, between 64 MiB and 1 GiB.

Risk: a value far above the present one frees memory at once: the file cache shrinks.

References: kernel, admin-guide/sysctl/vm.rst, which warns of both; no article of those collected gives a figure.
"""

from dbdyno.hosts.rules._sizes import GIB, KIB, MIB, size
from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.rules._sysctl import Wanted
from dbdyno.model.fact import Scalar
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

_KEY = "vm.min_free_kbytes"


def _fits(facts: Facts, value: Scalar) -> bool:
    memory, kept = facts.number("host.mem.memory_bytes"), float(str(value)) * KIB
    return kept <= 0.05 * memory and (memory < 4 * GIB or kept >= 16 * MIB)


def _target(facts: Facts) -> int:
    return int(min(max(facts.number("host.mem.memory_bytes") / 100, 64 * MIB), GIB)) // KIB


WANTED = (Wanted(_KEY, _fits, _target),)


def check(facts: Facts) -> Finding | None:
    value, memory = facts.value(f"host.sysctl.{_KEY}"), facts.number("host.mem.memory_bytes")
    if _fits(facts, value):
        return None
    return Finding(
        says=f"The kernel keeps {size(float(str(value)) * KIB)} of {size(memory)} free.",
        severity=Severity.WARNING,
        fixes=(WANTED[0].fix(facts),),
    )


RULE = Rule(
    id="HOST015",
    title="The kernel's own reserve of memory is in proportion",
    topic="memory",
    check=check,
    source=cite("kernel, admin-guide/sysctl/vm.rst (2024)"),
    good={"host.sysctl.vm.min_free_kbytes": 67584, "host.mem.memory_bytes": 24 * GIB},
    bad={"host.sysctl.vm.min_free_kbytes": 8388608, "host.mem.memory_bytes": 24 * GIB},
)
