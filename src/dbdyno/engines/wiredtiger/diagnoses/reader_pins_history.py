"""reader-pins-history: an old reader pins old versions

What is seen: the oldest active read timestamp is more than a minute back; the history store grows, dirty and update
bytes of the cache do not fall.

Why it happens: no version that a reader may still need is thrown away. Versions go from the cache to the history store,
and back when somebody reads; both cost writes, and what is newer than the reader stays.

Remedy: end the transaction or the cursor; commit sooner; no transactions over user input.

Cost: the ended transaction is undone.

Rivals: a majority commit point that lags (history-kept-for-members); writes beyond the disk without any old reader.

References: MongoDB manual, "Production Considerations" for transactions: 60 s (transactionLifetimeLimitSeconds), and
"serverStatus" (2024); WiredTiger manual, "History Store" (2024).
"""

from __future__ import annotations

from dbdyno.engines.wiredtiger.diagnoses._status import judged_elsewhere, look, made, names, within
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.finding import Finding
from dbdyno.model.recording import Recording, Stall
from dbdyno.model.units import bytes_text, seconds_text

_LIFETIME_S = 60.0


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    pinned_s = within(recording, "reader_pinned_s", stall).max()
    history = within(recording, "history_bytes", stall).max()
    inserts = within(recording, "history_inserts", stall).mean()
    oldest_s = within(recording, "oldest_pinned_s", stall).max()
    if judged_elsewhere(recording, stall) or pinned_s <= _LIFETIME_S:
        return None
    return Finding(
        says=f"The oldest reader stands {seconds_text(pinned_s)} back; {inserts:.0f} versions a second went to the "
        f"history store, which holds {bytes_text(history)}.",
        why=f"A transaction may last {_LIFETIME_S:.0f} s by default; what an older reader needs is kept.",
        evidence={
            "reader_pinned_s": round(pinned_s),
            "oldest_pinned_s": round(oldest_s),
            "history_bytes": round(history),
            "history_inserts_per_s": round(inserts, 1),
        },
        remedy="End the transaction or the cursor, and find out why it stays open.",
        fixes=(look("old transactions", "db.currentOp({'transaction.timeOpenMicros': {$gt: 60000000}})"),),
        risk="What is ended is undone.",
        verify="The oldest active read timestamp comes near, and the history store stops growing.",
        confidence=0.85 if inserts >= 1 else 0.6,
        ruled_out=(f"members that lag: the oldest timestamp is {oldest_s:.0f} s back, the reader {pinned_s:.0f} s",),
        series=names("reader_pinned_s", "oldest_pinned_s", "history_bytes", "history_inserts"),
    )


DIAGNOSIS = Diagnosis(
    id="reader-pins-history",
    title="An old reader pins old versions",
    check=check,
    source="MongoDB manual, Production Considerations (2024)",
    bad=lambda: made(reader_pinned_s=900, oldest_pinned_s=300, history_inserts=4000, history_bytes=9e9),
    good=lambda: made(cache_dirty_bytes=2.0 * (1 << 30)),
)
