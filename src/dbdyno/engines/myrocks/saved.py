"""Saved texts of SHOW ENGINE ROCKSDB STATUS as a recording.

The text has no time of its own, so that several stand a second apart in the order in which they are given, and each
counts what came since the one before. One text alone counts since the server's start.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from dbdyno.engines.myrocks.status import RocksStatus, parse_status, rocksdb_status_row
from dbdyno.model.errors import UsageError
from dbdyno.model.recording import MemoryRecording

_COUNTS = {
    "rocksdb_stall_l0_file_count_limit_slowdowns": "l0_slowdowns",
    "rocksdb_stall_l0_file_count_limit_stops": "l0_stops",
    "rocksdb_stall_locked_l0_file_count_limit_slowdowns": "l0_slowdowns",
    "rocksdb_stall_locked_l0_file_count_limit_stops": "l0_stops",
    "rocksdb_stall_pending_compaction_limit_slowdowns": "pending_compaction_slowdowns",
    "rocksdb_stall_pending_compaction_limit_stops": "pending_compaction_stops",
    "rocksdb_stall_memtable_limit_slowdowns": "memtable_slowdowns",
    "rocksdb_stall_memtable_limit_stops": "memtable_stops",
}
_GAUGES = ("files_l0", "score_max", "write_amplification", "compacting_files", "memtable_bytes")


def recognises(text: str) -> bool:
    try:
        parse_status(text)
    except UsageError:
        return False
    return True


def recording(texts: Sequence[str]) -> MemoryRecording:
    """Raises `UsageError` for a text that is none."""
    statuses = [parse_status(text) for text in texts]
    rows = [rocksdb_status_row(text) for text in texts]
    t_s = [float(index) for index in range(len(rows))]
    found = MemoryRecording(duration_s=t_s[-1])
    for name, column in _COUNTS.items():
        _add(found, f"rocksdb.{name}", t_s, _changes([_number(row.get(column)) for row in rows]))
    _add(found, "rocksdb.rocksdb_stall_micros", t_s, _held(statuses))
    for column in _GAUGES:
        _add(found, f"rocksdb_status.{column}", t_s, [_number(row.get(column)) for row in rows])
    return found


def _held(statuses: list[RocksStatus]) -> list[float]:
    """Microseconds of stalls a second of the server's life: as the first text says since the start, then from two."""
    first = statuses[0].stall_pct
    held = [math.nan if first is None else first * 1e4]
    for before, after in itertools.pairwise(statuses):
        seconds = _number(after.uptime_s) - _number(before.uptime_s)
        stalled = _number(after.stall_s) - _number(before.stall_s)
        held.append(stalled * 1e6 / seconds if seconds > 0 and stalled >= 0 else math.nan)
    return held


def _changes(counts: list[float]) -> list[float]:
    changes = [after - before for before, after in itertools.pairwise(counts)]
    return [counts[0] if len(counts) == 1 else 0.0, *(change if change >= 0 else math.nan for change in changes)]


def _add(found: MemoryRecording, name: str, t_s: list[float], values: list[float]) -> None:
    if any(math.isfinite(value) for value in values):
        found.add(name, t_s, values)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan
