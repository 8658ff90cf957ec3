"""operations-queue-for-lock: operations wait for a lock that somebody holds

What is seen: ten or more operations queue though read and write tickets are free and flow control is idle.

Why it happens: an index build in the foreground, a drop, a rename, fsyncLock or another command takes a collection, a
database or the whole instance for itself; everybody behind it waits, also those whose locks would agree.

Remedy: find the holder (currentOp with waitingForLock, $currentOp with idle sessions) and end it, or do such work at a
quiet time.

Cost: what is ended is undone and has to be done again.

Rivals: no free tickets; flow control.

References: MongoDB manual, "FAQ: Concurrency" and "serverStatus", globalLock.currentQueue (2024). Ten is our choice.
"""

from __future__ import annotations

from dbdyno.engines.wiredtiger.diagnoses._status import judged_elsewhere, look, made, names, severity, within
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.finding import Finding
from dbdyno.model.recording import Recording, Stall

_QUEUED_MIN = 10.0
_THROTTLED = 0.1


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    queued = within(recording, "queued", stall).max()
    free = min(within(recording, f"{kind}_tickets_free", stall).min() for kind in ("read", "write"))
    throttled = within(recording, "throttled_s", stall).mean()
    if judged_elsewhere(recording, stall) or queued < _QUEUED_MIN or free < 1 or throttled >= _THROTTLED:
        return None
    return Finding(
        says=f"Up to {queued:.0f} operations queued while at least {free:.0f} tickets of each kind were free.",
        why="With free tickets an operation queues for a lock.",
        severity=severity(recording, stall),
        evidence={"queued": round(queued), "tickets_free_min": round(free)},
        remedy="Find the holder of the lock, and end it or let it work at a quiet time.",
        fixes=(look("who waits for a lock", "db.currentOp({waitingForLock: true})"),),
        risk="What is ended is undone.",
        verify="globalLock.currentQueue is empty.",
        confidence=0.75,
        ruled_out=(f"tickets: at least {free:.0f} were free", f"flow control: {throttled:.2f} s of waits a second"),
        series=names("queued", "read_tickets_free", "write_tickets_free", "throttled_s"),
    )


DIAGNOSIS = Diagnosis(
    id="operations-queue-for-lock",
    title="Operations wait for a lock that somebody holds",
    check=check,
    source="MongoDB manual, FAQ: Concurrency (2024)",
    bad=lambda: made(queued=60),
    good=lambda: made(queued=60, write_tickets_free=0, write_tickets_used=128),
)
