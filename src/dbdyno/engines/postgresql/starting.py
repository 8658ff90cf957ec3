"""A whole starting configuration of PostgreSQL: what the formula leaves to the owner, and versions as people write
them.

Sources: PostgreSQL 15 manual, chapter 20 "Server Configuration" (2022); PGTune source (July 2026) for parallel
workers; the rest are the values that this folder's rules ask for, so that an audit finds nothing to add.
"""

from __future__ import annotations

import re

from dbdyno.engines.postgresql.memory import PLANNED_PART
from dbdyno.model.errors import UsageError
from dbdyno.model.knob import Assignment, Value
from dbdyno.model.machine import DiskClass, Machine

VERSION_DEFAULT = "18"
_KIB, _MIB, _PAGE = 1 << 10, 1 << 20, 8192
_MANUAL = "PostgreSQL 15 manual, chapter 20 (2022)"
_WORK_MEM_MIB_MAX = {"dw": 512, "mixed": 64, "desktop": 16}
"""Analytic queries sort much in few connections; short ones hardly sort."""
_WORKERS = 3
"""Default of autovacuum_max_workers."""

Settings = dict[str, tuple[Value, str]]
IN_EVERY_BUILD: Settings = {
    "wal_compression": ("on", "less log; lz4 costs less processor time, where the build has it"),
}


def version_of(words: str, product: str) -> tuple[int, str]:
    """`15`, `15.18` as this engine counts, and in words. Raises `UsageError`."""
    match = re.fullmatch(r"(\d{2})(?:\.(\d{1,4}))?", words)
    if match is None:
        raise UsageError(f"{words!r} is no version of {product}.", todo="write it like 15 or 15.18")
    return int(match[1]) * 10_000 + int(match[2] or 0), f"PostgreSQL {words}"


def settings(machine: Machine, version: int, chosen: Assignment) -> Settings:
    """What to add to the formula's settings (`chosen`), or to put in their place, each with its reason."""
    solid = machine.disk is not DiskClass.HDD
    found: Settings = {
        "max_connections": (machine.connections, f"as asked for; with more, put a pool in front ({_MANUAL})"),
        "work_mem": _work_mem(machine, chosen),
        "huge_pages": ("try", "fewer page table entries for a large cache, where the system has them set apart"),
        "effective_io_concurrency": (200 if solid else 2, "reads ahead of a bitmap scan, as the disk takes them"),
        "log_checkpoints": ("on", "checkpoints that volume forces are seen"),
        "log_lock_waits": ("on", "who waits longer than deadlock_timeout is seen"),
        "log_temp_files": (10 * _MIB // _KIB, "sorts that spill more than 10 MB are seen"),
        "log_autovacuum_min_duration": (600_000, "cleaning that takes ten minutes is seen"),
        "log_line_prefix": ("%m [%p] %q%u@%d ", "time, process, user and database: without them lines say nothing"),
        "track_io_timing": ("on", "reads and writes have times; the clock is cheap on this decade's machines"),
        "idle_in_transaction_session_timeout": (600_000, "a forgotten transaction ends after ten minutes"),
        "default_statistics_target": (
            (500, "few large queries deserve better plans") if machine.workload == "dw" else (100, "the default")
        ),
    }  # fmt: skip
    if machine.workload in ("oltp", "web"):
        found["jit"] = ("off", "compiling costs more than short queries gain (PGTune, 2026)")
    if machine.cores >= 4:
        half = max(1, min(4, machine.cores // 2))
        each = half if machine.workload != "dw" else max(half, machine.cores // 2)
        workers = max(8, machine.cores)
        found |= {
            "max_worker_processes": (workers, "one a processor, at least the default"),
            "max_parallel_workers": (machine.cores, "no more than there are processors"),
            "max_parallel_workers_per_gather": (each, "half the processors for one query, four where many run"),
            "max_parallel_maintenance_workers": (half, "builds of indexes in parallel (PGTune, 2026)"),
        }
    return found


def _work_mem(machine: Machine, chosen: Assignment) -> tuple[int, str]:
    """In kB: what the plan of memory leaves to each connection, bounded by what the load has use for."""
    cache = float(chosen.get("shared_buffers", 0)) * _PAGE
    vacuum = _WORKERS * float(chosen.get("maintenance_work_mem", 65_536)) * _KIB
    room = (PLANNED_PART * machine.memory_bytes - cache - vacuum) / max(1, machine.connections)
    most = _WORK_MEM_MIB_MAX.get(machine.workload, 32)
    mib = max(1, min(most, int(room / 2 // _MIB)))
    return mib * _MIB // _KIB, f"half of what each connection could have at a time, at most {most} MB for this load"
