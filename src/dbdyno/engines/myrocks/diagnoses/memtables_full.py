"""memtables-full: writers were stopped because memtables could not be flushed in time

What is seen: the stalls that are counted for memtables rise (in the status text `memtable_compaction`); several full
memtables wait to be flushed.

Why it happens: a column family has max_write_buffer_number memtables. When all are full and the flush has not freed
one, writers are stopped. The flush is slow (disk, too few threads), or memtables are so small that it is never done.

Remedy: more or larger memtables (max_write_buffer_number, write_buffer_size), more flush threads, a faster disk.

Cost: memory; recovery reads more log.

Rivals: files of level 0; bytes that wait for compaction.

References: RocksDB wiki, "Write Stalls" (2023); MariaDB manual, "MyRocks Status Variables" (2023).
"""

from __future__ import annotations

from dbdyno.engines.myrocks.diagnoses._stalls import (
    HELD_MIN,
    count_example,
    events,
    family_option,
    held_share,
    leads,
    number,
    option,
    others,
    series_of,
    severity,
)
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.finding import Finding
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Stall


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is None and recording.stalls:
        return None
    slowdowns, stops = events(recording, "memtable", stall)
    held = held_share(recording, stall)
    if slowdowns + stops < 1 or not leads(recording, "memtable", stall) or (stall is not None and held < HELD_MIN):
        return None
    jobs = number(recording.facts, "rocksdb_max_background_jobs", 2)
    return Finding(
        says=f"Writers were slowed {slowdowns:.0f} times and stopped {stops:.0f} times because memtables were "
        f"full; they were held back {held:.0%} of the time.",
        why="All memtables of a column family were full, and the flush had not freed one.",
        severity=severity(recording, stall, held),
        evidence={"slowdowns": round(slowdowns), "stops": round(stops), "held_back_share": round(held, 3)},
        remedy="Give writers more and larger memtables, and the flush more threads.",
        fixes=(
            family_option("write_buffer_size=128m;max_write_buffer_number=4"),
            option(recording.facts, "rocksdb_max_background_jobs", round(2 * jobs)),
        ),
        risk="Memory for each column family; recovery reads more log.",
        durability=Level.L3,
        verify="rocksdb_stall_memtable_limit_stops does not rise under the same load.",
        confidence=0.9 if held > 0.05 else 0.7,
        ruled_out=others(recording, "memtable", stall),
        start_s=0.0 if stall is None else None,
        end_s=recording.duration_s if stall is None else None,
        series=series_of("memtable"),
    )


DIAGNOSIS = Diagnosis(
    id="memtables-full",
    title="Writers were stopped because memtables could not be flushed in time",
    check=check,
    source="RocksDB wiki, Write Stalls (2023)",
    bad=lambda: count_example("memtable"),
    good=lambda: count_example("compaction"),
)
