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
    held = held_back(recording, stall, "memtable")
    if held is None:
        return None
    return finding(
        recording,
        stall,
        held,
        what="because memtables were full",
        why="All memtables of a column family were full, and the flush had not freed one.",
        remedy="Give writers more and larger memtables, and the flush more threads.",
        fixes=(family_option("write_buffer_size=128m;max_write_buffer_number=4"), more_jobs(recording.facts)),
        risk="Memory for each column family; recovery reads more log.",
        verify="rocksdb_stall_memtable_limit_stops does not rise under the same load.",
    )


DIAGNOSIS = Diagnosis(
    id="memtables-full",
    title="Writers were stopped because memtables could not be flushed in time",
    check=check,
    source="RocksDB wiki, Write Stalls (2023)",
    bad=lambda: count_example("memtable"),
    good=lambda: count_example("compaction"),
)
