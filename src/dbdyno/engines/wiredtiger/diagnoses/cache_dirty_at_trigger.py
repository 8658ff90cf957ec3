"""cache-dirty-at-trigger: more of the cache is dirty than the disk can take

What is seen: dirty bytes come to 20 % of the cache, or bytes allocated for updates to 10 %; writes slow down to the
pace of the disk.

Why it happens: more is changed than eviction and checkpoints write out. From 5 % dirty on eviction threads write; from
20 % on (eviction_dirty_trigger; for updates half of it, eviction_updates_trigger) clients' threads have to as well.

Remedy: more write throughput, or writes spread over time; fewer indexes. A larger cache or a higher trigger only
postpones it.

Cost: hardware, or the application's patience.

Rivals: a cache that is full of clean pages; an old reader that pins versions; members that lag.

References: "WiredTiger Logging and Checkpoint Mechanism" (Percona, 2023): 5 % target and 20 % trigger. They drive
eviction, not checkpoints as the article has it (WiredTiger manual, "Cache and Eviction Tuning", 2024).
"""

from __future__ import annotations

from dbdyno.engines.wiredtiger.diagnoses._status import (
    TRIGGER_DIRTY,
    TRIGGER_UPDATES,
    judged_elsewhere,
    look,
    made,
    names,
    severity,
    share_of_cache,
)
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.facts import MissingFact
from dbdyno.model.finding import Finding
from dbdyno.model.recording import Recording, Stall


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    dirty = share_of_cache(recording, "cache_dirty_bytes", stall)
    used = share_of_cache(recording, "cache_bytes", stall)
    updates = _updates(recording, stall)
    by_updates = updates is not None and updates >= TRIGGER_UPDATES
    if judged_elsewhere(recording, stall) or not (dirty >= TRIGGER_DIRTY or by_updates):
        return None
    also = f"; updates took {updates:.0%} (trigger {TRIGGER_UPDATES:.0%})" if updates is not None else ""
    return Finding(
        says=f"Up to {dirty:.0%} of the cache was dirty (trigger {TRIGGER_DIRTY:.0%}){also}.",
        why="From the trigger on clients' threads write pages out before their operations go on.",
        severity=severity(recording, stall),
        evidence={
            "dirty_share": round(dirty, 3),
            "used_share": round(used, 3),
            **({"updates_share": round(updates, 3)} if updates is not None else {}),
        },
        remedy="Spread the writes or give the disk more throughput; a larger cache only postpones it.",
        fixes=(look("dirty bytes", "db.serverStatus().wiredTiger.cache['tracked dirty bytes in the cache']"),),
        risk="none by looking",
        verify="Dirty bytes stay near 5 % of the cache under the same load.",
        confidence=0.85 if stall is not None else 0.7,
        ruled_out=(f"a cache full of clean pages: {used:.0%} was used",),
        series=names("cache_dirty_bytes", "cache_bytes", "cache_bytes_max"),
    )


def _updates(recording: Recording, stall: Stall | None) -> float | None:
    """Versions before 5 do not say it."""
    try:
        return share_of_cache(recording, "cache_updates_bytes", stall)
    except MissingFact:
        return None


DIAGNOSIS = Diagnosis(
    id="cache-dirty-at-trigger",
    title="More of the cache is dirty than the disk can take",
    check=check,
    source="WiredTiger Logging and Checkpoint Mechanism (Percona, 2023)",
    bad=lambda: made(cache_dirty_bytes=2.0 * (1 << 30)),
    good=lambda: made(lagged=1, throttled_s=12),
)
