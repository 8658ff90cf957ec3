"""write-cache-swap: the kernel's write cache pushed programs into swap

What is seen: free memory falls while the page cache grows, much is read and little written; then all at once swap-out
begins, and the disk writes. Free memory at the outset makes it look as if nothing was short. In a control group with a
memory limit: swap-out of its programs while a good part of the group's memory is changed page cache.

Why it happens: a bulk writer (a backup, a copy, a log split) fills the page cache up to the kernel's dirty limit, which
is a share of all memory. What it dirtied cannot be dropped, so that the kernel takes pages of programs instead. A group
reaches its own limit long before the machine's dirty limit slows the writer down.

Remedy: a dirty limit in bytes of a few hundred MiB, so that write-back begins early and the cache stays small.

Cost: bulk writers are slowed to the disk's speed sooner. Nothing that the database relies on changes.

Rivals: swap without a growing cache (the server's own memory is too large); swap with one memory node full and
another one free; a memory limit of a control group.

References: "The write cache: Swap insanity tome III" (Percona, 2017), whose table of vmstat lines is the example.
"""

from __future__ import annotations

import numpy as np

from dbdyno.hosts.diagnoses._fixes import sysctl
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.facts import MissingFact
from dbdyno.model.finding import Finding, Fix, Needs, Severity
from dbdyno.model.recording import Recording, Series, Stall
from dbdyno.model.units import bytes_text

_LOOK_BACK_S = 300.0
_LIMIT_BYTES = 512 << 20
_READ_MUCH = 10.0
"""Times as much read as written: a bulk writer reads what it copies, and its writes stay in the cache."""
_JUMP = 5.0
"""Times as much written once swap-out begins: what was held back comes all at once."""
_KEPT = 0.97
"""Share of the page cache that must be there still at the first swap-out: it was programs that gave way."""


_DIRTY_OF_GROUP = 0.2
"""Share of a group's page cache that is changed: the writer is ahead of the disk."""
_SWAPPED_OF_GROUP = 0.01
"""Share of the group's limit that is swapped out: less goes in the ordinary course of things."""


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if found := _in_group(recording, stall):
        return found
    if stall is not None:
        return None  # Swap is found by its own start: it may begin in a stall or between two.
    swapped = recording.role("swap_out_bytes")
    began = swapped.where(np.nan_to_num(swapped.values) > 0)
    if not len(began):
        return None
    start_s, end_s = float(began.t_s[0]), float(began.t_s[-1])
    before = (start_s - _LOOK_BACK_S, start_s - 0.5)
    cached = recording.series("memory", "cached_bytes").between(*before)
    free = recording.series("memory", "free_bytes").between(*before)
    read = recording.series("vmstat", "paged_in_bytes").between(*before).mean()
    written = recording.series("vmstat", "paged_out_bytes")
    held, released = written.between(*before).mean(), written.between(start_s, end_s).max()
    dirty_bytes = _dirty(recording, *before)
    grown_bytes = cached.last() - cached.min()
    short = free.last() < 0.1 * cached.last() and cached.last() >= _KEPT * cached.max()
    held_back = (read > _READ_MUCH * held and released > _JUMP * held) or dirty_bytes > 0.05 * cached.last()
    if not short or not held_back:
        return None
    return Finding(
        says=f"Swap-out began at {start_s:.0f} s with {bytes_text(cached.last())} of page cache kept and "
        f"{bytes_text(free.last())} free; writing rose from {bytes_text(held)}/s to {bytes_text(released)}/s.",
        why="A bulk writer filled the page cache faster than it was written; what is dirty cannot be dropped.",
        severity=Severity.WARNING,
        evidence={
            "swapped_out_bytes": round(swapped.total()),
            "cache_grown_bytes": round(grown_bytes),
            "free_bytes": round(free.last()),
            "read_bytes_per_s": round(read),
            "written_bytes_per_s_before": round(held),
            "written_bytes_per_s_then": round(released),
        },
        remedy="Limit the write cache in bytes, so that a bulk writer meets the disk's speed instead of all memory.",
        fixes=(
            sysctl(recording.facts, "vm.dirty_bytes", _LIMIT_BYTES),
            sysctl(recording.facts, "vm.dirty_background_bytes", _LIMIT_BYTES // 4),
        ),
        risk="Programs that write much through the page cache are slowed earlier.",
        verify="Run the same bulk job again: swap_out_bytes stays 0.",
        confidence=0.9 if dirty_bytes > 0.05 * cached.last() else 0.8,
        ruled_out=("the server outgrew the memory: then the page cache would have shrunk before the first swap-out",),
        start_s=start_s,
        end_s=end_s,
        series=("vmstat.swap_out_bytes", "memory.cached_bytes", "memory.free_bytes", "vmstat.paged_out_bytes"),
    )


def _dirty(recording: Recording, start_s: float, end_s: float) -> float:
    """Most of the changed page cache before; 0 where nobody asked (a saved vmstat does not have it)."""
    try:
        return recording.role("dirty_bytes").between(start_s, end_s).max()
    except MissingFact:
        return 0.0


def _in_group(recording: Recording, stall: Stall | None) -> Finding | None:
    """The same in the server's control group, whatever the machine has free."""
    groups = recording.keys("memory_group")
    if not groups:
        return None
    group = groups[0]
    swapped, cached, dirty, limit = (
        _inside(recording, f"{name}_bytes", group, stall) for name in ("swapped", "cached", "dirty", "limit")
    )
    if swapped is None or cached is None or dirty is None or limit is None:
        return None
    out_bytes, limit_bytes = swapped.max() - swapped.first(), limit.last()
    at = int(np.nanargmax(dirty.values / np.maximum(cached.values, 1.0)))
    dirty_bytes, cached_bytes = float(dirty.values[at]), float(cached.values[at])
    if out_bytes < _SWAPPED_OF_GROUP * limit_bytes or dirty_bytes < _DIRTY_OF_GROUP * cached_bytes:
        return None
    if cached_bytes < _DIRTY_OF_GROUP * limit_bytes:
        return None  # Programs alone outgrew the group.
    return Finding(
        says=f"{bytes_text(out_bytes)} of the programs of control group {group} were swapped out while "
        f"{bytes_text(cached_bytes)} of its {bytes_text(limit_bytes)} were page cache, "
        f"{bytes_text(dirty_bytes)} of that not on disk yet.",
        why="A bulk writer in the server's group is ahead of the disk; what is dirty cannot be dropped.",
        severity=Severity.WARNING,
        evidence={
            "swapped_out_bytes": round(out_bytes),
            "cached_bytes": round(cached_bytes),
            "dirty_bytes": round(dirty_bytes),
            "limit_bytes": round(limit_bytes),
        },
        remedy="Run bulk writers in a group of their own, or let them write past the page cache.",
        fixes=(Fix(kind="service", name="a group of its own for the bulk job", needs=Needs.PERSON),),
        risk="The job takes longer.",
        verify="memory_group.swapped_bytes does not grow while the job runs.",
        confidence=0.9,
        ruled_out=(
            f"programs that outgrew their limit: {bytes_text(cached_bytes)} were page cache",
            "memory that is short on the machine: it is the group that swapped",
        ),
        start_s=stall.start_s if stall else float(dirty.t_s[at]),
        end_s=stall.end_s if stall else float(dirty.t_s[-1]),
        series=(f"memory_group.swapped_bytes/{group}", f"memory_group.cached_bytes/{group}",
                f"memory_group.dirty_bytes/{group}"),
    )  # fmt: skip


def _inside(recording: Recording, column: str, group: str, stall: Stall | None) -> Series | None:
    """None where nobody asked (old records), or nothing was answered there."""
    try:
        series = recording.series("memory_group", column, group)
        part = series if stall is None else series.during(stall, slack_s=2)
        return part if len(part) else None
    except MissingFact:
        return None


def _example(*, filled: bool) -> Example:
    """48 GiB; a backup reads and fills the cache (or the server's own memory pushes it out), then swap-out for 10 s."""
    gib = float(1 << 30)
    example = Example(stall=None)
    example.curve("memory.cached_bytes", lambda t: (7 + (4 if filled else -4) * np.clip((t - 30) / 30, 0, 1)) * gib)
    example.curve("memory.free_bytes", lambda t: (4.2 - 4 * np.clip((t - 30) / 30, 0, 1)) * gib)
    example.level("vmstat.paged_in_bytes", 1.5e8, unit="B/s")
    example.curve("vmstat.paged_out_bytes", lambda t: np.where(t > 60, 1.2e8, 4e5), unit="B/s")
    example.curve(
        "vmstat.swap_out_bytes", lambda t: np.where((t > 60) & (t <= 70), 40e6, 0.0), unit="B/s", role="swap_out_bytes"
    )
    return example


DIAGNOSIS = Diagnosis(
    id="write-cache-swap",
    title="The write cache pushed programs into swap",
    check=check,
    source="The write cache: Swap insanity tome III (Percona, 2017)",
    bad=lambda: _example(filled=True),
    good=lambda: _example(filled=False),
)
