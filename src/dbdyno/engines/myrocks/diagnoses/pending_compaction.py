"""pending-compaction: writers were held back for the bytes that wait for compaction

What is seen: the stalls that are counted for pending compaction rise; the score of a level stands far above 1, and
disk or CPU of the compaction threads is used up.

Why it happens: the tree owes more merging than a limit allows (soft: writers are slowed, hard: they are stopped).
Data comes faster than the levels can take it in the long run, or one large delete or load left a backlog.

Remedy: more compaction (rocksdb_max_background_jobs, a higher rocksdb_rate_limiter_bytes_per_sec), less to write
(stronger compression of the lower levels), higher limits for a passing burst.

Cost: compaction takes CPU and disk; higher limits only shift the stall, and cost disk space.

Rivals: files of level 0; memtables that cannot be flushed.

References: RocksDB wiki, "Write Stalls" (2023); MariaDB manual, "MyRocks Status Variables" (2023).
"""

from __future__ import annotations

from dbdyno.engines.myrocks.diagnoses._stalls import (
    count_example,
    finding,
    held_back,
    more_jobs,
    number,
    option,
)
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.finding import Finding
from dbdyno.model.recording import Recording, Stall


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    held = held_back(recording, stall, "compaction")
    if held is None:
        return None
    limit = number(recording.facts, "rocksdb_rate_limiter_bytes_per_sec", 0)
    faster = (option(recording.facts, "rocksdb_rate_limiter_bytes_per_sec", round(2 * limit)),) if limit > 0 else ()
    return finding(
        recording,
        stall,
        held,
        what="for the bytes that wait for compaction",
        why="The tree owes more merging than its limit allows"
        + (f"; compaction may write {limit / 1e6:.0f} MB a second." if limit > 0 else "."),
        remedy="Let compaction do more, or write less.",
        fixes=(more_jobs(recording.facts), *faster),
        risk="Compaction takes CPU and disk from clients.",
        verify="rocksdb_stall_micros does not rise, and no level's score stays above 1.",
    )


DIAGNOSIS = Diagnosis(
    id="pending-compaction",
    title="Writers were held back for the bytes that wait for compaction",
    check=check,
    source="RocksDB wiki, Write Stalls (2023)",
    bad=lambda: count_example("compaction"),
    good=lambda: count_example("l0"),
)
