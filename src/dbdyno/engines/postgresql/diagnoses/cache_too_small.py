"""cache-too-small: clients wait for pages that the cache does not hold

What is seen: busy clients wait for reads of data files (wait event `DataFileRead`); more pages are asked from the
system than before, and fewer are found in the cache.

Why it happens: the pages in use do not fit shared_buffers and the kernel's cache, or something (a scan, a backup, a
restart) has just thrown them out.

Remedy: more shared_buffers when the pages in use fit into memory; else leave memory to the kernel's cache and buy
memory or a disk with quicker reads. Find scans of large tables.

Cost: memory; more dirty pages at a checkpoint.

Rivals: waits for writes; waits for temporary files.

References: "Tuning PostgreSQL for sysbench-tpcc" (Percona, 2018), on shared_buffers and the hit ratio.
"""

from __future__ import annotations

from dbdyno.engines.postgresql.diagnoses._settings import bytes_of, setting
from dbdyno.engines.postgresql.diagnoses._waits import DATA_READ, DATA_WRITE, SPILL, series_of, share
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.recording import Recording, Stall
from dbdyno.model.units import bytes_text

_SHARE = 0.4
_CACHE_SHARE = 0.75
"""The article's share of memory for a cache that holds all pages in use."""


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    reads = share(recording, stall, *DATA_READ)
    if reads < _SHARE:
        return None
    hits, misses = recording.role("cache_hits"), recording.role("cache_misses")
    if stall is not None:
        hits, misses = hits.during(stall), misses.during(stall)
    asked = hits.total() + misses.total()
    ratio = hits.total() / asked if asked > 0 else 1.0
    buffers_bytes = bytes_of(recording.facts, "shared_buffers")
    database_bytes = recording.facts.number("server.database_bytes")
    memory_bytes = recording.facts.number("host.memory_bytes")
    if 0 < database_bytes <= buffers_bytes:
        return None  # There is room for all of it: what is read was not read before.
    room_bytes = min(_CACHE_SHARE * memory_bytes, 1.2 * database_bytes)
    fits = buffers_bytes < room_bytes and database_bytes < _CACHE_SHARE * memory_bytes
    writes, spill = share(recording, stall, *DATA_WRITE), share(recording, stall, *SPILL)
    return Finding(
        says=f"{reads:.0%} of the busy clients' time went into reading data files; "
        f"{ratio:.2%} of the pages were in the cache.",
        why=f"shared_buffers is {bytes_text(buffers_bytes)}, the database {bytes_text(database_bytes)}, "
        f"memory {bytes_text(memory_bytes)}.",
        severity=Severity.ADVICE if stall is None else Severity.WARNING,
        evidence={
            "data_read_share": round(reads, 2),
            "hit_ratio": round(ratio, 4),
            "misses_per_s": round(misses.mean()),
            "shared_buffers_bytes": round(buffers_bytes),
            "database_bytes": round(database_bytes),
        },
        remedy="Give the cache the pages in use."
        if fits
        else "The pages in use do not fit: more memory, quicker reads.",
        fixes=(setting(recording.facts, "shared_buffers", int(room_bytes // 8192)),) if fits else (),
        risk="Memory that the kernel's cache and connections no longer have; more dirty pages at a checkpoint.",
        verify="database.misses falls, the share of DataFileRead with it.",
        confidence=0.7,
        ruled_out=(f"writes: {writes:.0%} of the clients' time", f"temporary files: {spill:.0%}"),
        series=("database.hits", "database.misses", *series_of(recording, *DATA_READ)),
    )


def _example(*, small: bool) -> Example:
    """Eight clients wait for reads in the stall, or for writes."""
    example = Example(lowest_per_s=200)
    example.level("waits.count/CPU/running", 4, during=2, role="waiting")
    example.level("waits.count/IO/DataFileRead", 0, during=6 if small else 0)
    example.level("waits.count/IO/DataFileWrite", 0, during=0 if small else 6)
    example.level("database.hits", 1e5, during=2e4, role="cache_hits")
    example.level("database.misses", 10, during=5e3 if small else 10, role="cache_misses")
    example.fact("setting.shared_buffers", 16384, unit="8kB")
    example.fact("server.database_bytes", 4 << 30)
    example.fact("host.memory_bytes", 16 << 30)
    return example


DIAGNOSIS = Diagnosis(
    id="cache-too-small",
    title="Clients wait for pages that the cache does not hold",
    check=check,
    source="Tuning PostgreSQL for sysbench-tpcc (Percona, 2018)",
    bad=lambda: _example(small=True),
    good=lambda: _example(small=False),
)
