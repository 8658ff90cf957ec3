"""cache-full: eviction does not keep room in the cache

What is seen: 95 % of the cache or more is used; operations stop until pages are thrown out.

Why it happens: eviction holds the cache at 80 %. It falls behind when scans read faster than pages can be thrown out,
when what is in the cache is dirty, or when an old reader pins versions so that they cannot go.

Remedy: end what pins the cache (a long transaction, an old cursor), find scans of whole collections; then think of more
memory.

Cost: a larger cache takes memory from the file cache, which holds compressed blocks and thus more data.

Rivals: dirty pages at their trigger; an old reader; clients that merely wait for the disk.

References: WiredTiger manual, "Cache and Eviction Tuning" (2024): target 80 %, trigger 95 %; "MongoDB Tuning
Anti-Patterns" (Percona, 2021).
"""

from __future__ import annotations

from dbdyno.engines.wiredtiger.diagnoses._status import (
    TRIGGER_FULL,
    judged_elsewhere,
    look,
    made,
    names,
    severity,
    share_of_cache,
)
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.finding import Finding
from dbdyno.model.recording import Recording, Stall


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    used = share_of_cache(recording, "cache_bytes", stall)
    dirty = share_of_cache(recording, "cache_dirty_bytes", stall)
    # A store that lives in memory is full in another way.
    in_memory = recording.facts.has("server.storage_engine") and _store(recording) == "inMemory"
    if judged_elsewhere(recording, stall) or in_memory or used < TRIGGER_FULL:
        return None
    return Finding(
        says=f"Up to {used:.0%} of the cache was used; eviction should hold it at 80 %.",
        why=f"At {TRIGGER_FULL:.0%} operations wait until pages are thrown out.",
        severity=severity(recording, stall),
        evidence={"used_share": round(used, 3), "dirty_share": round(dirty, 3)},
        remedy="Find what pins the cache or reads whole collections; then think of more memory.",
        fixes=(look("long operations", "db.currentOp({active: true, secs_running: {$gt: 60}})"),),
        risk="none by looking",
        verify="The cache stays near 80 % under the same load.",
        confidence=0.85 if stall is not None else 0.7,
        ruled_out=(f"dirty pages at their trigger: {dirty:.0%} was dirty",)
        if dirty < 0.2
        else ("clean pages alone: what is dirty must be written before it goes",),
        series=names("cache_bytes", "cache_dirty_bytes", "cache_bytes_max"),
    )


def _store(recording: Recording) -> str:
    return recording.facts.text("server.storage_engine")


DIAGNOSIS = Diagnosis(
    id="cache-full",
    title="Eviction does not keep room in the cache",
    check=check,
    source="WiredTiger manual, Cache and Eviction Tuning (2024)",
    bad=lambda: made(cache_bytes=7.8 * (1 << 30)),
    good=lambda: made(write_conflicts=4000, writes=200),
)
