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
    count_example,
    family_option,
    finding,
    held_back,
    more_jobs,
)
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.finding import Finding
from dbdyno.model.recording import Recording, Stall


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    held = held_back(recording, stall, "l0")
    if held is None:
        return None
    return finding(
        recording,
        stall,
        held,
        what="for the number of files in level 0",
        why="Memtables were flushed faster than compaction merged the files of level 0.",
        remedy="Give compaction more threads, and make fewer, larger files.",
        fixes=(more_jobs(recording.facts), family_option("write_buffer_size=128m")),
        risk="Compaction takes CPU and disk; larger memtables take memory and longer to recover.",
    )


DIAGNOSIS = Diagnosis(
    id="level0-files",
    title="Writers were held back for the files of level 0",
    check=check,
    source="RocksDB wiki, Write Stalls (2023)",
    bad=lambda: count_example("l0"),
    good=lambda: count_example("memtable"),
)
