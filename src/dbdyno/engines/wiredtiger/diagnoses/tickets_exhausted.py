"""tickets-exhausted: no ticket was free for another operation

What is seen: no read or no write ticket is available, and operations queue.

Why it happens: an operation without a ticket waits before it begins. Until 6 there are 128 of each; since 7 the server
adapts their number, so that few are no fault by themselves. They run out when those that hold them are slow.

Remedy: find why the operations that hold them take long: a full cache, a slow disk, scans. More tickets make it worse.

Cost: none by looking.

Rivals: an operation that holds a lock: then tickets are free while operations queue.

References: MongoDB manual, "serverStatus" (2024): concurrentTransactions, since 8.0 under queues.execution.
"""

from __future__ import annotations

from dbdyno.engines.wiredtiger.diagnoses._status import (
    judged_elsewhere,
    look,
    made,
    names,
    none_free,
    severity,
    within,
)
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.finding import Finding
from dbdyno.model.recording import Recording, Stall


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    kinds = [kind for kind in ("read", "write") if none_free(recording, kind, stall)]
    queued = within(recording, "queued", stall).max()
    if judged_elsewhere(recording, stall) or not kinds:
        return None
    used = {kind: within(recording, f"{kind}_tickets_used", stall).max() for kind in kinds}
    return Finding(
        says=f"No {' and no '.join(kinds)} ticket was free, and up to {queued:.0f} operations waited.",
        why="An operation without a ticket waits before it begins.",
        severity=severity(recording, stall),
        evidence={"queued": round(queued), **{f"{kind}_tickets_used": round(count) for kind, count in used.items()}},
        remedy="Find why those that hold the tickets take long: a full cache, a slow disk, scans.",
        fixes=(look("what holds tickets", "db.currentOp({active: true})"),),
        risk="More tickets make it worse: what is slow is asked for more at once.",
        verify="Tickets are available under the same load.",
        confidence=0.8,
        ruled_out=("a lock that somebody holds: tickets would be free",),
        series=names("queued", *(f"{kind}_tickets_{name}" for kind in kinds for name in ("free", "used"))),
    )


DIAGNOSIS = Diagnosis(
    id="tickets-exhausted",
    title="No ticket was free for another operation",
    check=check,
    source="MongoDB manual, serverStatus (2024)",
    bad=lambda: made(write_tickets_free=0, write_tickets_used=128, queued=60),
    good=lambda: made(queued=60),
    symptom=True,
)
