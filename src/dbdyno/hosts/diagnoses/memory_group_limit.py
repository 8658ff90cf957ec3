"""memory-group-limit: the server's control group is at its memory limit

What is seen: the group's memory stands at its limit, allocations hit the limit again and again, its page cache is
thrown out and read again; in the worst case the kernel kills processes of the group.

Why it happens: a container or service has a memory limit that the server's cache, its connections and the page cache
of its files do not fit into. The machine itself may have plenty of free memory.

Remedy: raise the limit, or lower the server's cache so that it fits with room for page cache and connections.

Cost: memory of the machine.

Rivals: memory that is short on the whole machine.

References: the kernel's Documentation/admin-guide/cgroup-v2.rst (2015–2024), memory.max and memory.events.
"""

from __future__ import annotations

from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.facts import MissingFact
from dbdyno.model.finding import Finding, Fix, Needs, Severity
from dbdyno.model.recording import Recording, Series, Stall
from dbdyno.model.units import bytes_text

_NEAR = 0.95
_HITS_PER_S = 5.0


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    groups = recording.keys("memory_group")
    recording.series("memory_group", "limit_bytes")
    if not groups:
        return None
    group = groups[0]
    limit_bytes = recording.series("memory_group", "limit_bytes", group).last()
    used = _inside(recording.series("memory_group", "used_bytes", group), stall)
    hits = _inside(recording.series("memory_group", "limit_hits", group), stall)
    killed = _inside(recording.series("memory_group", "killed", group), stall).total()
    if killed <= 0 and (used.max() < _NEAR * limit_bytes or hits.mean() < _HITS_PER_S):
        return None
    free = _machine_free(recording)
    return Finding(
        says=f"The server's control group {group} used {bytes_text(used.max())} of {bytes_text(limit_bytes)}; "
        f"{hits.mean():.0f} allocations a second met the limit"
        + (f", {killed:.0f} processes were killed." if killed else "."),
        why="Page cache is thrown out and read again while the machine may have memory to spare.",
        severity=Severity.CRITICAL if killed else Severity.WARNING if stall else Severity.ADVICE,
        evidence={
            "limit_bytes": round(limit_bytes),
            "used_bytes_max": round(used.max()),
            "limit_hits_per_s": round(hits.mean(), 1),
            "killed": round(killed),
            "machine_available_bytes": None if free is None else round(free),
        },
        remedy="Raise the limit, or make the server's cache smaller.",
        fixes=(Fix(kind="service", name="MemoryMax", value=bytes_text(2 * limit_bytes), needs=Needs.PERSON),),
        risk="Memory of the machine that others no longer have.",
        verify="memory_group.limit_hits stays at 0.",
        confidence=0.9 if killed else 0.8,
        ruled_out=(
            "memory that is short on the machine: "
            + ("not known" if free is None else f"{bytes_text(free)} were available"),
        ),
        series=("memory_group.used_bytes", "memory_group.limit_hits", "memory_group.limit_bytes"),
    )


def _inside(series: Series, stall: Stall | None) -> Series:
    return series if stall is None else series.during(stall, slack_s=1)


def _machine_free(recording: Recording) -> float | None:
    try:
        return recording.role("memory_available_bytes").min()
    except MissingFact:
        return None


def _example(*, full: bool) -> Example:
    """A limit of 2 GiB; hit 500 times a second in the stall, or never."""
    example = Example(lowest_per_s=200)
    example.level("memory_group.limit_bytes/db", 2 << 30, unit="B")
    example.level("memory_group.used_bytes/db", 1.5e9, during=2.14e9 if full else 1.5e9, unit="B")
    example.level("memory_group.limit_hits/db", 0, during=500 if full else 0)
    example.level("memory_group.killed/db", 0)
    return example


DIAGNOSIS = Diagnosis(
    id="memory-group-limit",
    title="The server's control group is at its memory limit",
    check=check,
    source="Linux kernel, Documentation/admin-guide/cgroup-v2.rst (2024)",
    bad=lambda: _example(full=True),
    good=lambda: _example(full=False),
)
