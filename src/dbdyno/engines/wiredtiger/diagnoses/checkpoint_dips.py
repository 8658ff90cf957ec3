"""checkpoint-dips: throughput dips while a checkpoint writes

What is seen: a stall begins with a checkpoint or lies within it, and most of the time no checkpoint runs.

Why it happens: every 60 s all dirty pages are written and synced. The writes and the syncs of a checkpoint take the
device from reads and from the journal.

Remedy: a device with more writes a second, the journal on another one, fewer dirty pages at once (a lower
eviction_dirty_target), a kernel that writes back sooner.

Cost: what is written sooner is written more often.

Rivals: a journal that is slow all the time; a dirty cache at its trigger; checkpoints of a minute and more
(checkpoint-too-long).

References: "Percona Memory Engine for MongoDB" (Percona, 2016): jitter at every checkpoint; "WiredTiger Logging and
Checkpoint Mechanism" (Percona, 2023). The half of the time is our choice.
"""

from __future__ import annotations

from dbdyno.engines.wiredtiger.diagnoses._status import (
    DUE_S,
    TRIGGER_DIRTY,
    look,
    made,
    names,
    share_of_cache,
    usual,
    within,
)
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.finding import Finding
from dbdyno.model.recording import Recording, Stall

_SHARE_OUTSIDE_MAX = 0.5


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is None:
        return None
    during = within(recording, "checkpoint_running", stall).share_above(0)
    outside = usual(recording, "checkpoint_running", stall).share_above(0)
    last_s = within(recording, "checkpoint_last_s", stall).max()
    dirty = share_of_cache(recording, "cache_dirty_bytes", stall)
    if last_s >= DUE_S or during < 0.5 or outside > _SHARE_OUTSIDE_MAX or dirty >= TRIGGER_DIRTY:
        return None
    return Finding(
        says=f"A checkpoint ran in {during:.0%} of the stall's samples, and in {outside:.0%} of all others; one took "
        f"{last_s:.1f} s.",
        why="The writes and syncs of a checkpoint take the device from reads and from the journal.",
        evidence={
            "running_in_stall": round(during, 2),
            "running_else": round(outside, 2),
            "checkpoint_s": round(last_s, 1),
        },
        remedy="A device with more writes a second, or fewer dirty pages at once.",
        fixes=(look("checkpoints", "db.serverStatus().wiredTiger.transaction // .checkpoint since 8.0"),),
        risk="What is written sooner is written more often.",
        verify="No dips in the minute's rhythm.",
        confidence=min(0.85, 0.5 + 0.5 * (during - outside)),
        ruled_out=(f"a dirty cache at its trigger: {dirty:.0%} was dirty",),
        series=names("checkpoint_running", "checkpoint_last_s", "cache_dirty_bytes"),
    )


DIAGNOSIS = Diagnosis(
    id="checkpoint-dips",
    title="Throughput dips while a checkpoint writes",
    check=check,
    source="WiredTiger Logging and Checkpoint Mechanism (Percona, 2023)",
    bad=lambda: made(checkpoint_running=1, checkpoint_s=1),
    good=lambda: made(connections=900, connections_made=80),
)
