"""journal-sync-slow: writes wait for the journal's sync

What is seen: a sync of the journal takes 20 ms or more on average.

Why it happens: a write with j: true, or w: "majority" by its default, is answered only when the journal is on the disk.
The sync waits for the device, which checkpoints, backups or neighbours keep busy, or which has no cache that survives a
power failure.

Remedy: a device with such a cache, the journal on one of its own, fewer and larger batches from the clients.

Cost: hardware. j: false would be faster and loses what was answered when the server crashes: not proposed.

Rivals: waiting for other members; a checkpoint at the same time.

References: MongoDB manual, "Journaling" (2024); "WiredTiger Logging and Checkpoint Mechanism" (Percona, 2023). The
20 ms are our choice: a disk that turns needs 8 ms for a turn, flash less.
"""

from __future__ import annotations

from dbdyno.engines.wiredtiger.diagnoses._status import judged_elsewhere, look, made, mean_s, names, severity, within
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.finding import Finding
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Stall

_SLOW_S = 0.02
_PER_S_MIN = 0.2


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    sync_s, per_s = mean_s(recording, "journal_sync_s", "journal_syncs", stall)
    running = within(recording, "checkpoint_running", stall).share_above(0)
    if judged_elsewhere(recording, stall) or sync_s < _SLOW_S or per_s < _PER_S_MIN:
        return None
    return Finding(
        says=f"A sync of the journal took {sync_s * 1e3:.0f} ms on average, {per_s:.1f} times a second.",
        why="What clients want to be durable is answered only after the sync.",
        severity=severity(recording, stall),
        evidence={"journal_sync_ms": round(sync_s * 1e3, 1), "journal_syncs_per_s": round(per_s, 1)},
        remedy="A device whose cache survives a power failure, or the journal on a device of its own.",
        fixes=(look("journal", "db.serverStatus().wiredTiger.log // twice, a minute apart"),),
        risk="none by looking",
        durability=Level.L3,
        verify="log sync time duration divided by log sync operations falls below 20 ms.",
        confidence=0.8,
        ruled_out=(f"a checkpoint alone: one ran in {running:.0%} of the samples",),
        series=names("journal_sync_s", "journal_syncs", "checkpoint_running"),
    )


DIAGNOSIS = Diagnosis(
    id="journal-sync-slow",
    title="Writes wait for the journal's sync",
    check=check,
    source="MongoDB manual, Journaling (2024)",
    bad=lambda: made(journal_sync_s=0.9, journal_syncs=5),
    good=lambda: made(member_wait_s=180, member_waits=90),
)
