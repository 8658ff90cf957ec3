"""memory-outgrown: programs need more memory than there is

What is seen: swap-out, or processes killed for want of memory, with little page cache left to give up.

Why it happens: the server's cache, its connections' own memory and other programs together are larger than the machine.

Remedy: a smaller cache or fewer connections; less memory for each sort; other programs elsewhere.

Cost: more reads from disk.

Rivals: a page cache that grew before (a bulk writer); one memory node that is full while another has room.

References: an article on the 80 % rule for a cache (Percona, 2015): the budget of a host.
"""

from __future__ import annotations

import numpy as np

from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Fix, Needs, Severity
from dbdyno.model.recording import Recording, Stall
from dbdyno.model.units import bytes_text

_CACHE_LEFT = 0.15
_AVAILABLE = 0.1


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is not None:
        return None
    swapped = recording.role("swap_out_bytes")
    killed = recording.series("vmstat", "out_of_memory_kills").total()
    if swapped.total() <= 0 and killed <= 0:
        return None
    total_bytes = recording.series("memory", "total_bytes").median()
    cached = recording.series("memory", "cached_bytes")
    available = recording.role("memory_available_bytes")
    times = swapped.t_s[np.nan_to_num(swapped.values) > 0]
    start_s, end_s = (float(times[0]), float(times[-1])) if times.size else (available.t_s[0], available.t_s[-1])
    cache_bytes = cached.between(start_s - 10, end_s + 10).min()
    left_bytes = available.between(start_s - 10, end_s + 10).min()
    if left_bytes > _AVAILABLE * total_bytes or cache_bytes > _CACHE_LEFT * total_bytes:
        return None
    return Finding(
        says=f"{bytes_text(swapped.total())} were swapped out and {killed:.0f} programs killed with "
        f"{bytes_text(left_bytes)} of {bytes_text(total_bytes)} still available.",
        why="Programs together need more memory than there is; hardly any page cache was left to give up.",
        severity=Severity.CRITICAL if killed else Severity.WARNING,
        evidence={
            "swapped_out_bytes": round(swapped.total()),
            "killed": round(killed),
            "available_bytes": round(left_bytes),
            "cached_bytes": round(cache_bytes),
        },
        remedy="A smaller cache of the server, fewer connections, or more memory.",
        fixes=(Fix(kind="manual", name="memory of the server", needs=Needs.PERSON),),
        risk="More reads from disk.",
        verify="swap_out_bytes stays 0.",
        confidence=0.85,
        ruled_out=("a write cache that grew: only " + bytes_text(cache_bytes) + " of page cache were left",),
        start_s=float(start_s),
        end_s=float(end_s),
        series=("vmstat.swap_out_bytes", "memory.available_bytes", "memory.cached_bytes"),
    )


def _example(*, short: bool) -> Example:
    """16 GiB; swap-out for 10 s with 0.3 GiB available, or with 8 GiB of page cache."""
    gib = float(1 << 30)
    example = Example(stall=None)
    example.level("memory.total_bytes", 16 * gib, unit="B")
    example.level("memory.cached_bytes", (0.5 if short else 8) * gib, unit="B")
    example.level("memory.available_bytes", (0.3 if short else 7) * gib, unit="B", role="memory_available_bytes")
    example.level("vmstat.out_of_memory_kills", 0)
    example.curve(
        "vmstat.swap_out_bytes", lambda t: np.where((t > 60) & (t <= 70), 2e7, 0.0), unit="B/s", role="swap_out_bytes"
    )
    return example


DIAGNOSIS = Diagnosis(
    id="memory-outgrown",
    title="Programs need more memory than there is",
    check=check,
    source="On the rule of 80 % of memory for the cache (Percona, 2015)",
    bad=lambda: _example(short=True),
    good=lambda: _example(short=False),
)
