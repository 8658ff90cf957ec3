"""history-kept-for-members: old versions are kept because the majority lags

What is seen: the oldest timestamp is more than ten minutes back though no reader is as old; dirty bytes of the cache
and the history store grow.

Why it happens: what the majority of the members has not got may have to be rolled back, so that the primary keeps every
version since then (and those of the last 300 s for snapshot reads). A member that is down or slow, with an arbiter in
its place, holds the majority's point back.

Remedy: bring the member back or take it from the set (votes: 0) until it is; data-bearing members instead of arbiters.

Cost: with fewer votes the set survives fewer failures.

Rivals: an old reader; a longer minSnapshotHistoryWindowInSeconds that was chosen.

References: MongoDB manual, "Mitigate Performance Issues with PSA Replica Set" and minSnapshotHistoryWindowInSeconds
(300 s), 2024. Twice that window is our choice.
"""

from __future__ import annotations

from dbdyno.engines.wiredtiger.diagnoses._status import judged_elsewhere, look, made, names, within
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.finding import Finding
from dbdyno.model.recording import Recording, Stall
from dbdyno.model.units import seconds_text

_KEPT_S = 600.0


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    oldest_s = within(recording, "oldest_pinned_s", stall).max()
    reader_s = within(recording, "reader_pinned_s", stall).max()
    if judged_elsewhere(recording, stall) or oldest_s <= _KEPT_S or reader_s >= 0.9 * oldest_s:
        return None
    return Finding(
        says=f"The oldest timestamp is {seconds_text(oldest_s)} back, the oldest reader {seconds_text(reader_s)}.",
        why="What the majority of the members has not got may not be forgotten.",
        evidence={"oldest_pinned_s": round(oldest_s), "reader_pinned_s": round(reader_s)},
        remedy="Bring the member that lags back, or take its vote until it is back.",
        fixes=(look("members", "rs.printSecondaryReplicationInfo()"),),
        risk="With fewer votes the set survives fewer failures.",
        verify="The oldest timestamp comes within the window of history (300 s).",
        confidence=0.7,
        ruled_out=(f"an old reader: the oldest is {reader_s:.0f} s back",),
        series=names("oldest_pinned_s", "reader_pinned_s"),
    )


DIAGNOSIS = Diagnosis(
    id="history-kept-for-members",
    title="Old versions are kept because the majority lags",
    check=check,
    source="MongoDB manual, Mitigate Performance Issues with PSA Replica Set (2024)",
    bad=lambda: made(oldest_pinned_s=5400),
    good=lambda: made(reader_pinned_s=900, oldest_pinned_s=900, history_inserts=4000),
)
