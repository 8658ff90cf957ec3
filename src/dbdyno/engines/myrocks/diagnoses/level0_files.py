"""level0-files: writers were held back for the files of level 0

What is seen: throughput falls in steps or to nothing; the stalls that are counted for the number of files in level 0
rise (in the status text `level0_slowdown`, `level0_numfiles`).

Why it happens: each flush of a memtable leaves a file in level 0. Their keys overlap, so that reads have to look into
all of them. From a number of files on writers are slowed, from another on they are stopped, until compaction has
merged them.

Remedy: more threads for compaction (rocksdb_max_background_jobs), larger memtables (fewer files), higher triggers
where reads allow it.

Cost: compaction takes CPU and disk; more files in level 0 make reads slower.

Rivals: bytes that wait for compaction in deeper levels; memtables that cannot be flushed.

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
    slowdowns, stops = events(recording, "l0", stall)
    held = held_share(recording, stall)
    if slowdowns + stops < 1 or not leads(recording, "l0", stall) or (stall is not None and held < HELD_MIN):
        return None
    jobs = number(recording.facts, "rocksdb_max_background_jobs", 2)
    return Finding(
        says=f"Writers were slowed {slowdowns:.0f} times and stopped {stops:.0f} times for the number of files "
        f"in level 0; they were held back {held:.0%} of the time.",
        why="Memtables were flushed faster than compaction merged the files of level 0.",
        severity=severity(recording, stall, held),
        evidence={"slowdowns": round(slowdowns), "stops": round(stops), "held_back_share": round(held, 3)},
        remedy="Give compaction more threads, and make fewer, larger files.",
        fixes=(
            option(recording.facts, "rocksdb_max_background_jobs", round(2 * jobs)),
            family_option("write_buffer_size=128m"),
        ),
        risk="Compaction takes CPU and disk; larger memtables take memory and longer to recover.",
        durability=Level.L3,
        verify="rocksdb_stall_micros does not rise under the same load.",
        confidence=0.9 if held > 0.05 else 0.7,
        ruled_out=others(recording, "l0", stall),
        start_s=0.0 if stall is None else None,
        end_s=recording.duration_s if stall is None else None,
        series=series_of("l0"),
    )


DIAGNOSIS = Diagnosis(
    id="level0-files",
    title="Writers were held back for the files of level 0",
    check=check,
    source="RocksDB wiki, Write Stalls (2023)",
    bad=lambda: count_example("l0"),
    good=lambda: count_example("memtable"),
)
