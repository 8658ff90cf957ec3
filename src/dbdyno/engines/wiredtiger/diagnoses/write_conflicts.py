"""write-conflicts: writes collide on the same documents

What is seen: write conflicts are more than a tenth of all writes, and ten a second or more.

Why it happens: two operations that change a document at the same time cannot both win: the loser is repeated by the
server, or, within a transaction, ends with WriteConflict and is repeated by the client. A counter or a queue in one
document is written by everybody.

Remedy: spread hot documents (several counters that are summed when read), shorter transactions, $inc instead of reading
and writing back.

Cost: the application's data model changes.

Rivals: a slow disk: conflicts would not rise; locks on collections.

References: MongoDB manual, "FAQ: Concurrency" and "serverStatus", metrics.operation.writeConflicts (2024). The tenth is
our choice.
"""

from __future__ import annotations

from dbdyno.engines.wiredtiger.diagnoses._status import judged_elsewhere, look, made, names, severity, within
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.finding import Finding
from dbdyno.model.recording import Recording, Stall

_SHARE = 0.1
_PER_S_MIN = 10.0


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    conflicts = within(recording, "write_conflicts", stall).mean()
    writes = within(recording, "writes", stall).mean()
    if judged_elsewhere(recording, stall) or conflicts < _PER_S_MIN or conflicts <= _SHARE * writes:
        return None
    return Finding(
        says=f"{conflicts:.0f} write conflicts a second, with {writes:.0f} writes a second.",
        why="The loser of a conflict is repeated from its beginning.",
        severity=severity(recording, stall),
        evidence={"write_conflicts_per_s": round(conflicts, 1), "writes_per_s": round(writes, 1)},
        remedy="Spread hot documents, keep transactions short, use $inc instead of reading and writing back.",
        fixes=(look("hot documents", "db.currentOp({writeConflicts: {$gt: 10}})"),),
        risk="The application's data model changes.",
        verify="metrics.operation.writeConflicts rises more slowly under the same load.",
        confidence=0.85,
        ruled_out=("a slow disk: it makes no conflicts",),
        series=names("write_conflicts", "writes"),
    )


DIAGNOSIS = Diagnosis(
    id="write-conflicts",
    title="Writes collide on the same documents",
    check=check,
    source="MongoDB manual, FAQ: Concurrency (2024)",
    bad=lambda: made(write_conflicts=4000, writes=200),
    good=lambda: made(queued=60, writes=20),
)
