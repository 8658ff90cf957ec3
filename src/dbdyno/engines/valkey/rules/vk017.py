"""VK017: Memory is lost in fragments

What it checks: less than two fifths more than is used lies in fragments, or the server mends them while it runs
(activedefrag).

Why it matters: fragments count for the machine and not for maxmemory.

Remedy: activedefrag yes, where the build can (jemalloc of its own); MEMORY PURGE; else a restart or a switch to a
replica.

Risk: mending takes a few per cent of one core.

References: Valkey manual, MEMORY DOCTOR and INFO (2024); valkey.conf 8.0, active defragmentation (2024).
"""

from dbdyno.engines.valkey.rules._setting import MIB, by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

RATIO_MAX, BYTES_MAX = 1.4, 100 * MIB


def check(facts: Facts) -> Finding | None:
    off = not facts.flag("setting.activedefrag")
    ratio, wasted = facts.number("status.allocator_frag_ratio"), facts.number("status.allocator_frag_bytes")
    if not off or ratio <= RATIO_MAX or wasted <= BYTES_MAX:
        return None
    return Finding(
        says=f"{wasted / MIB:.0f} MiB lie in fragments ({ratio:.2f} times what is used), and activedefrag is off.",
        severity=Severity.ADVICE,
        fixes=(by_hand("activedefrag", "CONFIG SET activedefrag yes", undo="CONFIG SET activedefrag no"),),
    )


RULE = Rule(
    id="VK017",
    title="Memory is not lost in fragments",
    topic="memory",
    check=check,
    source="valkey.conf 8.0, active defragmentation (2024)",
    applies=lambda facts: not facts.flag("setting.activedefrag"),
    good={"setting.activedefrag": "no", "status.allocator_frag_ratio": 1.05, "status.allocator_frag_bytes": 10485760},
    bad={"setting.activedefrag": "no", "status.allocator_frag_ratio": 1.9, "status.allocator_frag_bytes": 943718400},
)
