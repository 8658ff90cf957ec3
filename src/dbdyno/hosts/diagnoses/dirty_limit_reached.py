"""dirty-limit-reached: writers are made to wait at the kernel's limit of changed memory

What is seen: in the stall the changed page cache (what is under way to disk included) stands at the kernel's limit, and
the disk writes all the time.

Why it happens: at that limit (vm.dirty_ratio of the free memory, or vm.dirty_bytes) every program that writes through
the page cache is made to wait until enough has reached the disk: bulk writers, and the server with them.

Remedy: begin write-back much earlier (vm.dirty_background_bytes), so that the limit is never reached in one burst;
keep bulk writers off the server's disk or let them write past the cache.

Cost: write-back begins earlier and is more even.

Rivals: a full disk queue without a full cache (then the disk is the limit, not the kernel).

References: "Tuning Linux" (Percona, 2016): both ratios low; the kernel's Documentation/admin-guide/sysctl/vm.rst.
"""

from __future__ import annotations

from dbdyno.hosts.diagnoses._fixes import sysctl
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding
from dbdyno.model.recording import Recording, Series, Stall
from dbdyno.model.units import bytes_text

_NEAR = 0.97
"""Of the point half-way between the background limit and the limit: from there on the kernel makes writers wait
(the kernel's mm/page-writeback.c, balance_dirty_pages)."""
_BACKGROUND_BYTES = 64 << 20


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is None:
        return None
    limit_bytes = recording.series("reclaim", "dirty_limit_bytes").during(stall, slack_s=1).median()
    background_bytes = recording.series("reclaim", "dirty_background_bytes").during(stall, slack_s=1).median()
    changed = _changed(recording)
    dirty_bytes = changed.during(stall, slack_s=1).max()
    usual_bytes = changed.outside(recording.stalls).median()
    slowed_bytes = (min(background_bytes, limit_bytes) + limit_bytes) / 2
    if limit_bytes <= 0 or dirty_bytes < _NEAR * slowed_bytes or usual_bytes >= _NEAR * slowed_bytes:
        return None
    return Finding(
        says=f"{bytes_text(dirty_bytes)} of changed page cache stood against a limit of {bytes_text(limit_bytes)} "
        f"(usually {bytes_text(usual_bytes)}).",
        why=f"From {bytes_text(slowed_bytes)} on the kernel makes writers wait, at the limit all of them.",
        evidence={
            "dirty_bytes": round(dirty_bytes),
            "dirty_limit_bytes": round(limit_bytes),
            "dirty_bytes_usual": round(usual_bytes),
        },
        remedy="Begin write-back early and evenly.",
        fixes=(
            sysctl(recording.facts, "vm.dirty_background_bytes", _BACKGROUND_BYTES),
            sysctl(recording.facts, "vm.dirty_bytes", 8 * _BACKGROUND_BYTES),
        ),
        risk="Bulk writers meet the disk's speed sooner.",
        verify="vmstat.dirty_bytes stays far below reclaim.dirty_limit_bytes.",
        confidence=0.8,
        ruled_out=("a slow disk alone: the cache was at its limit, which it usually is not",),
        series=("vmstat.dirty_bytes", "vmstat.writeback_bytes", "reclaim.dirty_limit_bytes"),
    )


def _changed(recording: Recording) -> Series:
    """What is changed, and what is under way to disk: the kernel counts both against the limit."""
    dirty, under_way = recording.role("dirty_bytes"), recording.series("vmstat", "writeback_bytes")
    return Series(dirty.name, dirty.t_s, dirty.values + under_way.values, dirty.unit, dirty.seconds)


def _example(*, reached: bool) -> Example:
    """A limit of 4 GiB; in the stall nearly reached, or far."""
    example = Example()
    example.level("reclaim.dirty_limit_bytes", 4 << 30, unit="B")
    example.level("reclaim.dirty_background_bytes", 2 << 30, unit="B")
    example.level("vmstat.writeback_bytes", 1e6, during=1e8, unit="B")
    example.level("vmstat.dirty_bytes", 50e6, during=4.1e9 if reached else 3e8, unit="B", role="dirty_bytes")
    return example


DIAGNOSIS = Diagnosis(
    id="dirty-limit-reached",
    title="Writers wait at the kernel's limit of changed memory",
    check=check,
    source="Tuning Linux (Percona, 2016)",
    bad=lambda: _example(reached=True),
    good=lambda: _example(reached=False),
)
