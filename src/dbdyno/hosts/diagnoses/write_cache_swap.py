"""write-cache-swap: the kernel's write cache pushed programs into swap

What is seen: free memory falls while the page cache grows, much is read and little written; then all at once swap-out
begins, and the disk writes. Free memory at the outset makes it look as if nothing was short.

Why it happens: a bulk writer (a backup, a copy, a log split) fills the page cache up to the kernel's dirty limit, which
is a share of all memory. What it dirtied cannot be dropped, so that the kernel takes pages of programs instead.

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
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.recording import Recording, Stall
from dbdyno.model.units import bytes_text

_LOOK_BACK_S = 300.0
_LIMIT_BYTES = 512 << 20


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is not None:
        return None  # Swap is found by its own start: it may begin in a stall or between two.
    swapped = recording.role("swap_out_bytes")
    began = swapped.where(np.nan_to_num(swapped.values) > 0)
    if not len(began):
        return None
    start_s = float(began.t_s[0])
    total_bytes = recording.series("memory", "total_bytes").median()
    cached = recording.series("memory", "cached_bytes").between(start_s - _LOOK_BACK_S, start_s)
    free = recording.series("memory", "free_bytes").between(start_s - _LOOK_BACK_S, start_s)
    grown_bytes = cached.last() - cached.min()
    used = free.last() < free.max() and free.last() < 0.1 * total_bytes
    if not used or grown_bytes < 0.005 * total_bytes:
        return None
    dirty_bytes = recording.role("dirty_bytes").between(start_s - _LOOK_BACK_S, start_s).max()
    heavy = dirty_bytes > 0.01 * total_bytes
    end_s = float(began.t_s[-1])
    return Finding(
        says=f"Swap-out began at {start_s:.0f} s, after the page cache had grown by {bytes_text(grown_bytes)} and free "
        f"memory had fallen to {bytes_text(free.last())}.",
        why=f"{bytes_text(dirty_bytes)} were dirty: the write cache may grow to a share of {bytes_text(total_bytes)}.",
        severity=Severity.WARNING,
        evidence={
            "swapped_out_bytes": swapped.total(),
            "cache_grown_bytes": grown_bytes,
            "free_bytes": free.last(),
            "dirty_bytes": dirty_bytes,
        },
        remedy="Limit the write cache in bytes, so that a bulk writer meets the disk's speed instead of all memory.",
        fixes=(
            sysctl(recording.facts, "vm.dirty_bytes", _LIMIT_BYTES),
            sysctl(recording.facts, "vm.dirty_background_bytes", _LIMIT_BYTES // 4),
        ),
        risk="Programs that write much through the page cache are slowed earlier.",
        verify="Run the same bulk job again: swap_out_bytes stays 0.",
        confidence=0.9 if heavy else 0.6,
        ruled_out=("the server outgrew the memory: then the page cache would have shrunk before the first swap-out",),
        start_s=start_s,
        end_s=end_s,
        series=("vmstat.swap_out_bytes", "memory.cached_bytes", "memory.free_bytes", "vmstat.dirty_bytes"),
    )


def _example(*, filled: bool) -> Example:
    """48 GiB; a backup fills the cache for 30 s (or not), then pages are swapped out for 10 s."""
    gib_ = float(1 << 30)
    example = Example(stall=None)
    example.level("memory.total_bytes", 48 * gib_)
    growth = 4.0 if filled else -4.0
    example.curve("memory.cached_bytes", lambda t: (7 + growth * np.clip((t - 30) / 30, 0, 1)) * gib_)
    example.curve("memory.free_bytes", lambda t: (4.2 - 4 * np.clip((t - 30) / 30, 0, 1)) * gib_)
    example.level("vmstat.dirty_bytes", (3 if filled else 0.01) * gib_, unit="B", role="dirty_bytes")
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
