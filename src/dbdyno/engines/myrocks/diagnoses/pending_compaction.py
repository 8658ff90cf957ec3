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
    HELD_MIN,
    count_example,
    events,
    held_share,
    leads,
    number,
    option,
    others,
    series_of,
    severity,
)
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.finding import Finding, Fix
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Stall


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is None and recording.stalls:
        return None
    slowdowns, stops = events(recording, "compaction", stall)
    held = held_share(recording, stall)
    if slowdowns + stops < 1 or not leads(recording, "compaction", stall) or (stall is not None and held < HELD_MIN):
        return None
    jobs = number(recording.facts, "rocksdb_max_background_jobs", 2)
    limit = number(recording.facts, "rocksdb_rate_limiter_bytes_per_sec", 0)
    fixes: tuple[Fix, ...] = (option(recording.facts, "rocksdb_max_background_jobs", round(2 * jobs)),)
    if limit > 0:
        fixes += (option(recording.facts, "rocksdb_rate_limiter_bytes_per_sec", round(2 * limit)),)
    return Finding(
        says=f"Writers were slowed {slowdowns:.0f} times and stopped {stops:.0f} times for the bytes that wait for "
        f"compaction; they were held back {held:.0%} of the time.",
        why="The tree owes more merging than its limit allows"
        + (f"; compaction may write {limit / 1e6:.0f} MB a second." if limit > 0 else "."),
        severity=severity(recording, stall, held),
        evidence={"slowdowns": round(slowdowns), "stops": round(stops), "held_back_share": round(held, 3)},
        remedy="Let compaction do more, or write less.",
        fixes=fixes,
        risk="Compaction takes CPU and disk from clients.",
        durability=Level.L3,
        verify="rocksdb_stall_micros does not rise, and no level's score stays above 1.",
        confidence=0.9 if held > 0.05 else 0.7,
        ruled_out=others(recording, "compaction", stall),
        start_s=0.0 if stall is None else None,
        end_s=recording.duration_s if stall is None else None,
        series=series_of("compaction"),
    )


DIAGNOSIS = Diagnosis(
    id="pending-compaction",
    title="Writers were held back for the bytes that wait for compaction",
    check=check,
    source="RocksDB wiki, Write Stalls (2023)",
    bad=lambda: count_example("compaction"),
    good=lambda: count_example("l0"),
)
