"""VK018: A part of the data is swapped out

What it checks: at least four fifths of the memory that is used is in memory.

Why it matters: one page that comes back from the disk stops all clients for milliseconds.

Remedy: more memory or a lower maxmemory; then make the system bring it back (a restart, or swapoff when there is
room).

Risk: swapoff without room lets the system kill processes.

References: Valkey manual, Latency, "Latency induced by swapping" (2024); INFO, mem_fragmentation_ratio (2024).
"""

from dbdyno.engines.valkey.rules._setting import MIB, by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

USED_MIN, SHARE_MIN = 64 * MIB, 0.8


def check(facts: Facts) -> Finding | None:
    used, resident = facts.number("status.used_memory"), facts.number("status.used_memory_rss")
    if used < USED_MIN or resident >= used * SHARE_MIN:
        return None
    return Finding(
        says=f"{resident / MIB:.0f} MiB of {used / MIB:.0f} MiB are in memory; the rest is swapped out.",
        severity=Severity.CRITICAL,
        fixes=(by_hand("maxmemory", "look at VmSwap in /proc/PID/status; CONFIG SET maxmemory …"),),
    )


RULE = Rule(
    id="VK018",
    title="The data is in memory",
    topic="memory",
    check=check,
    source="Valkey manual, Latency (2024)",
    good={"status.used_memory": 104857600, "status.used_memory_rss": 115343360},
    bad={"status.used_memory": 1048576000, "status.used_memory_rss": 314572800},
)
