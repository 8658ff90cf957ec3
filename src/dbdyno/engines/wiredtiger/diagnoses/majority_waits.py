"""majority-waits: clients wait for other members

What is seen: writes with a write concern of more than one member wait 100 ms or more on average
(metrics.getLastError.wtime).

Why it happens: w: "majority", the default since 5.0, is answered when a majority has the write in its journal: of three
members the second fastest sets the pace.

Remedy: look at the members' lag, their disks and the network; members near each other for the majority.

Cost: none by looking. w: 1 would be faster and loses what was answered when the primary changes: not proposed.

Rivals: the primary's own journal; flow control.

References: MongoDB manual, "Write Concern" and "serverStatus", metrics.getLastError (2024). The 100 ms are our choice.
"""

from __future__ import annotations

from dbdyno.engines.wiredtiger.diagnoses._status import judged_elsewhere, look, made, mean_s, names, severity
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.finding import Finding
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Stall

_SLOW_S = 0.1
_PER_S_MIN = 1.0


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    wait_s, per_s = mean_s(recording, "member_wait_s", "member_waits", stall)
    sync_s, _ = mean_s(recording, "journal_sync_s", "journal_syncs", stall)
    # Who waits for a slow journal of the primary waits for the same time here.
    own = sync_s >= 0.5 * wait_s
    if judged_elsewhere(recording, stall) or wait_s < _SLOW_S or per_s < _PER_S_MIN or own:
        return None
    return Finding(
        says=f"{per_s:.0f} writes a second waited {wait_s * 1e3:.0f} ms each for other members.",
        why='A write with w: "majority" is answered when most members have it.',
        severity=severity(recording, stall),
        evidence={
            "wait_ms": round(wait_s * 1e3),
            "waits_per_s": round(per_s, 1),
            "own_sync_ms": round(sync_s * 1e3, 1),
        },
        remedy="Look at the members' lag, their disks and the network.",
        fixes=(look("members", "rs.printSecondaryReplicationInfo()"),),
        risk="none by looking",
        durability=Level.L3,
        verify="metrics.getLastError.wtime.totalMillis rises more slowly under the same load.",
        confidence=0.8,
        ruled_out=(f"the primary's own journal: a sync took {sync_s * 1e3:.1f} ms",),
        series=names("member_wait_s", "member_waits", "journal_sync_s", "journal_syncs"),
    )


DIAGNOSIS = Diagnosis(
    id="majority-waits",
    title="Clients wait for other members",
    check=check,
    source="MongoDB manual, Write Concern (2024)",
    bad=lambda: made(member_wait_s=180, member_waits=90),
    good=lambda: made(journal_sync_s=0.9, journal_syncs=5),
)
