"""memory-engine-full: the engine that lives in memory is full

What is seen: 99 % or more of inMemorySizeGB is used; throughput falls, then inserts, index builds and updates that grow
documents end with WT_CACHE_FULL, while reads still work.

Why it happens: nothing can be evicted to a disk. Near full, threads search for versions that nobody needs any more.

Remedy: delete or expire data, or raise inMemorySizeGB within memory / 1.5, for the process may take half as much again.

Cost: memory; a size beyond that ends in swapping or the kernel's killer.

Rivals: flow control; locks; with storage on disk a full cache is another matter.

References: "Percona Memory Engine for MongoDB" (Percona, 2016): throughput falls from 99 % on; size up to memory / 1.5.
"""

from __future__ import annotations

from dbdyno.engines.wiredtiger.diagnoses._status import judged_elsewhere, look, made, names, share_of_cache
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.recording import Recording, Stall

_FULL = 0.99


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    used = share_of_cache(recording, "cache_bytes", stall)
    in_memory = recording.facts.text("server.storage_engine") == "inMemory"
    if judged_elsewhere(recording, stall) or not in_memory or used < _FULL:
        return None
    return Finding(
        says=f"Up to {used:.1%} of the memory of the store was used.",
        why="Nothing can be evicted to a disk: writes fail when no room is found.",
        severity=Severity.CRITICAL,
        evidence={"used_share": round(used, 4)},
        remedy="Delete or expire data, or raise inMemorySizeGB within memory / 1.5.",
        fixes=(look("what is stored", "db.stats()"),),
        risk="The process may take 1.5 times the configured size.",
        verify="Less than 99 % is used.",
        confidence=0.9,
        ruled_out=("a cache before a disk: this engine has none behind it",),
        series=names("cache_bytes", "cache_bytes_max"),
    )


DIAGNOSIS = Diagnosis(
    id="memory-engine-full",
    title="The engine that lives in memory is full",
    check=check,
    source="Percona Memory Engine for MongoDB (Percona, 2016)",
    bad=lambda: made(engine="inMemory", cache_bytes=8.1 * (1 << 30)),
    good=lambda: made(engine="inMemory", lagged=1, throttled_s=12),
)
