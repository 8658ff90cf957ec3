"""What the diagnoses of this folder share: figures of a stall or of a whole record, and the examples."""

from __future__ import annotations

import numpy as np

from dbdyno.model.example import Example
from dbdyno.model.finding import Fix, Needs, Severity
from dbdyno.model.recording import Recording, Series, Stall

TRIGGER_DIRTY, TRIGGER_UPDATES, TRIGGER_FULL = 0.20, 0.10, 0.95
"""Shares of the cache from which clients' threads evict pages (WiredTiger manual, Cache and Eviction Tuning, 2024)."""
DUE_S = 60.0
"""Time from one checkpoint to the next (WiredTiger Logging and Checkpoint Mechanism, Percona, 2023)."""
_GIB = float(1 << 30)
_USUAL = {
    "cache_bytes": 6.4 * _GIB,
    "cache_dirty_bytes": 0.3 * _GIB,
    "cache_updates_bytes": 0.1 * _GIB,
    "cache_bytes_max": 8 * _GIB,
    "read_tickets_free": 120.0,
    "read_tickets_used": 8.0,
    "write_tickets_free": 118.0,
    "write_tickets_used": 10.0,
    "queued": 0.0,
    "active": 20.0,
    "connections": 100.0,
    "connections_free": 51_000.0,
    "checkpoint_running": 0.0,
    "checkpoint_last_s": 3.0,
    "lagged": 0.0,
    "reader_pinned_s": 0.5,
    "oldest_pinned_s": 300.0,
    "history_bytes": 4096.0,
    "evicted_by_clients": 0.0,
    "evicted_clean": 800.0,
    "evicted_dirty": 400.0,
    "clients_evicting_s": 0.0,
    "clients_read_s": 0.02,
    "clients_reads": 50.0,
    "checkpoint_s": 0.05,
    "journal_syncs": 50.0,
    "journal_sync_s": 0.1,
    "history_inserts": 10.0,
    "throttled_s": 0.0,
    "member_waits": 200.0,
    "member_wait_s": 1.0,
    "connections_made": 0.1,
    "write_conflicts": 1.0,
    "writes": 1000.0,
}


def judged_elsewhere(recording: Recording, stall: Stall | None) -> bool:
    """Whether the whole record need not be judged, because its stalls are."""
    return stall is None and bool(recording.stalls)


def severity(recording: Recording, stall: Stall | None) -> Severity:
    """A warning where it explains a stall, or where nobody knows whether there was one (a single document)."""
    return Severity.WARNING if stall is not None or not len(recording.throughput) else Severity.ADVICE


def within(recording: Recording, column: str, stall: Stall | None) -> Series:
    """The stall's part of a column, or all of it."""
    whole = recording.series("wiredtiger", column)
    return whole if stall is None else whole.during(stall)


def usual(recording: Recording, column: str, stall: Stall | None) -> Series:
    """The part outside of all stalls; all of it when there is none."""
    whole = recording.series("wiredtiger", column)
    return whole if stall is None else whole.outside(recording.stalls)


def share_of_cache(recording: Recording, column: str, stall: Stall | None) -> float:
    """Greatest share of the cache's configured size, 0 to 1."""
    return within(recording, column, stall).max() / recording.series("wiredtiger", "cache_bytes_max").median()


def mean_s(recording: Recording, seconds: str, count: str, stall: Stall | None) -> tuple[float, float]:
    """Mean seconds of what a pair of counters tells, and how often a second it was; both 0 when it never was."""
    often = within(recording, count, stall).mean()
    return (within(recording, seconds, stall).mean() / often, often) if often > 0 else (0.0, 0.0)


def none_free(recording: Recording, kind: str, stall: Stall | None) -> bool:
    """Whether at some moment no ticket was free, though some were in use, and operations waited."""
    free, used = (within(recording, f"{kind}_tickets_{name}", stall) for name in ("free", "used"))
    queued = within(recording, "queued", stall)
    # Each raises when it has no value there: then nothing can be said.
    free.min(), used.max(), queued.max()
    return bool(np.any((free.values <= 0) & (used.values > 0) & (queued.values >= 1)))


def names(*columns: str) -> tuple[str, ...]:
    return tuple(f"wiredtiger.{column}" for column in columns)


def look(name: str, command: str) -> Fix:
    """What to look at first, as it would be typed into the shell: a person decides."""
    return Fix(kind="statement", name=name, live=command, needs=Needs.PERSON)


def made(*, engine: str = "wiredTiger", **during: float) -> Example:
    """A server in whose stall the named columns stand at these values, and all others as usual."""
    example = Example()
    for column, level in _USUAL.items():
        example.level(f"wiredtiger.{column}", level, during=during.get(column))
    example.fact("server.storage_engine", engine)
    return example
