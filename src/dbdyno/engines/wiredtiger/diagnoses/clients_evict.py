"""clients-evict: clients' threads clean the cache

What is seen: latency rises, at the 99th percentile first, while pages are evicted by application threads: more than 5 %
of all that were evicted.

Why it happens: eviction threads of the server's own keep the cache at 80 % used and 5 % dirty. Where they cannot keep
up (95 % used, 20 % dirty, 10 % updates), the thread of an operation has to evict pages, and write the dirty ones,
before its operation goes on.

Remedy: more write throughput, fewer indexes, smaller batches; then more eviction threads (threads_max of
wiredTigerEngineRuntimeConfig).

Cost: eviction threads take processor time and writes; a larger cache takes memory from the file cache.

Rivals: a full cache without own eviction by clients; tickets that ran out for another reason; a slow journal.

References: WiredTiger manual, "Cache and Eviction Tuning" (2024); "WiredTiger Logging and Checkpoint Mechanism"
(Percona, 2023). The 5 % are those of the rule on the same counter.
"""

from __future__ import annotations

from dbdyno.engines.wiredtiger.diagnoses._status import judged_elsewhere, look, made, mean_s, names, severity, within
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.finding import Finding
from dbdyno.model.recording import Recording, Stall

_SHARE = 0.05
_PER_S_MIN = 1.0


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    own = within(recording, "evicted_by_clients", stall).mean()
    pages = sum(within(recording, column, stall).mean() for column in ("evicted_clean", "evicted_dirty"))
    sync_s, _ = mean_s(recording, "journal_sync_s", "journal_syncs", stall)
    if judged_elsewhere(recording, stall) or own < _PER_S_MIN or own <= _SHARE * pages:
        return None
    share = own / max(own, pages)
    return Finding(
        says=f"Clients' threads evicted {own:.0f} pages a second, {share:.0%} of all that were evicted.",
        why="The server's eviction threads cannot keep the cache below its triggers.",
        severity=severity(recording, stall),
        evidence={"evicted_by_clients_per_s": round(own, 1), "evicted_per_s": round(pages, 1)},
        remedy="Give the disk less to write (fewer indexes, smaller batches) or more throughput; then more eviction "
        "threads.",
        fixes=(look("eviction threads", "db.serverStatus().wiredTiger.cache['eviction worker thread active']"),),
        risk="More eviction threads take processor time and write more.",
        verify="Pages evicted by application threads stay where they are under the same load.",
        confidence=0.9 if stall is not None else 0.7,
        ruled_out=(f"a slow journal: a sync took {sync_s * 1e3:.1f} ms",),
        series=names("evicted_by_clients", "evicted_clean", "evicted_dirty"),
    )


DIAGNOSIS = Diagnosis(
    id="clients-evict",
    title="Clients' threads clean the cache",
    check=check,
    source="WiredTiger manual, Cache and Eviction Tuning (2024)",
    bad=lambda: made(evicted_by_clients=600, evicted_dirty=900, clients_evicting_s=8),
    good=lambda: made(journal_sync_s=0.9, journal_syncs=5),
)
