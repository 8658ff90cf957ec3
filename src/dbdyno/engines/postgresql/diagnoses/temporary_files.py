"""temporary-files: sorts and hashes spill to temporary files

What is seen: temporary files are written much faster than usual; statements wait for their reads and writes (wait
events `BufFileRead`, `BufFileWrite`), and the disk is busy with them.

Why it happens: a sort or hash table that needs more than work_mem goes to disk, and so does every one of a parallel
plan's workers.

Remedy: more work_mem, best for the statement or the role that needs it; an index that gives the order; log_temp_files
to find the statements.

Cost: work_mem is taken for every sort and hash of every connection: connections × nodes × work_mem must fit.

Rivals: a cache that is too small (then data files are read, not temporary ones).

References: "Tuning PostgreSQL for sysbench-tpcc" (Percona, 2018); PostgreSQL 15 manual, 20.4.1 (2022).
"""

from __future__ import annotations

from dbdyno.engines.postgresql.diagnoses._settings import bytes_of, power_of_two, setting
from dbdyno.engines.postgresql.diagnoses._waits import DATA_READ, SPILL, share
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.recording import Recording, Stall
from dbdyno.model.units import bytes_text

_FACTOR = 5.0
"""Times the usual rate."""
_SHARE = 0.15
_OFTEN = 0.1
"""Share of the seconds with spilling from which on it is more than a report now and then."""
_MULTIPLE = 4.0
"""Spilled bytes in multiples of work_mem before anything is said."""
_WORK_MEM_MAX_KB = 1 << 20


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    spilled = recording.role("temp_bytes")
    work_mem_bytes = bytes_of(recording.facts, "work_mem")
    # A statement's files are counted when they are closed: the end of a stall may come before.
    seen = spilled.during(stall, slack_s=3.0) if stall else spilled
    usual = spilled.outside(recording.stalls).median()
    waits, reads = share(recording, stall, *SPILL), share(recording, stall, *DATA_READ)
    much = seen.total() > _MULTIPLE * work_mem_bytes and seen.mean() > _FACTOR * usual
    if stall is None:
        much = spilled.share_above(0) > _OFTEN and spilled.total() > _MULTIPLE * work_mem_bytes
    if not much and waits < _SHARE:
        return None
    if stall is not None and waits < _SHARE and seen.mean() <= _FACTOR * usual:
        return None
    wanted_kb = min(_WORK_MEM_MAX_KB, 4 * power_of_two(work_mem_bytes / 1024))
    return Finding(
        says=f"{bytes_text(seen.total())} went to temporary files, up to {bytes_text(seen.max())}/s; "
        f"{waits:.0%} of the busy clients' time were waits for them.",
        why=f"work_mem is {bytes_text(work_mem_bytes)}: what needs more goes to disk.",
        severity=Severity.ADVICE if stall is None else Severity.WARNING,
        evidence={
            "temp_bytes": round(seen.total()),
            "temp_bytes_per_s_usual": round(usual),
            "temp_file_share": round(waits, 2),
            "data_read_share": round(reads, 2),
            "work_mem_bytes": round(work_mem_bytes),
        },
        remedy="More work_mem for the statements that spill (log_temp_files finds them), or an index for their order.",
        fixes=(setting(recording.facts, "work_mem", wanted_kb), setting(recording.facts, "log_temp_files", 0)),
        risk="work_mem is taken for every sort and hash of every connection; too much of it ends in swap.",
        verify="database.temp_bytes no longer rises.",
        confidence=0.85 if waits >= _SHARE else 0.6,
        ruled_out=(f"reads of data files: {reads:.0%} of the clients' time",),
        series=("database.temp_bytes",),
    )


def _example(*, spilling: bool) -> Example:
    """In the stall 200 MB/s go to temporary files, or data files are read."""
    example = Example(lowest_per_s=200)
    example.level("database.temp_bytes", 0, during=2e8 if spilling else 0, unit="B/s", role="temp_bytes")
    example.level("waits.count/CPU/running", 4, during=4, role="waiting")
    example.level("waits.count/IO/BufFileWrite", 0, during=4 if spilling else 0)
    example.level("waits.count/IO/DataFileRead", 0, during=0 if spilling else 4)
    example.fact("setting.work_mem", 4096, unit="kB")
    example.fact("setting.log_temp_files", -1, unit="kB")
    return example


DIAGNOSIS = Diagnosis(
    id="temporary-files",
    title="Sorts and hashes spill to temporary files",
    check=check,
    source="Tuning PostgreSQL for sysbench-tpcc (Percona, 2018)",
    bad=lambda: _example(spilling=True),
    good=lambda: _example(spilling=False),
)
