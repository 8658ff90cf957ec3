"""What busy clients waited for, as shares of their time."""

from __future__ import annotations

from dbdyno.engines.postgresql.diagnoses._settings import seconds_of
from dbdyno.model.facts import MissingFact
from dbdyno.model.recording import Recording, Series, Stall

LOG_SYNC = ("IO/WALSync", "IO/WalSync", "IO/WALWrite", "IO/WalWrite", "LWLock/WALWriteLock", "LWLock/WALWrite")
"""Waits for the log to be on disk: one process writes and syncs, the others wait for its lock."""
DATA_READ = ("IO/DataFileRead",)
DATA_WRITE = ("IO/DataFileWrite", "IO/DataFileFlush", "IO/DataFileExtend", "IO/DataFileSync")
ROW_LOCK = ("Lock/transactionid", "Lock/tuple")
TABLE_LOCK = ("Lock/relation",)
SPILL = ("IO/BufFileRead", "IO/BufFileWrite", "IO/BuffileRead", "IO/BuffileWrite", "IO/BufFileTruncate")
REPLICA = ("IPC/SyncRep",)
_HEADS_MIN = 0.5
CIRCLES = 0.3
"""Share of the time in which a circle of transactions stood, each for deadlock_timeout before it is looked for."""


def clients(recording: Recording, stall: Stall | None, *wanted: str) -> float:
    """Mean number of busy clients that waited for one of `wanted` (`class/event`, or `class/` for all of a class); all
    busy clients when none is given. In the stall, or in the whole record."""
    total = 0.0
    for key in recording.keys("waits") if wanted else [None]:
        if key is None or any(key == one or (one.endswith("/") and key.startswith(one)) for one in wanted):
            total += _inside(recording.series("waits", "count", key), stall).mean()
    if wanted:
        # That the question was answered at all is what makes an absent wait mean "nobody".
        _inside(recording.series("waits", "count"), stall).mean()
    return total


def share(recording: Recording, stall: Stall | None, *wanted: str) -> float:
    """Share of the busy clients' time, 0 to 1; 0 when nobody was busy."""
    busy = clients(recording, stall)
    return clients(recording, stall, *wanted) / busy if busy > 0 else 0.0


def head_share(recording: Recording, stall: Stall | None, *wanted: str) -> float:
    """The same among the clients that do not wait for another one's row: a queue for a row only shows what its head
    waits for. 0 when hardly any client is at the head of a queue (its owner sleeps)."""
    heads = clients(recording, stall) - clients(recording, stall, *ROW_LOCK)
    return min(1.0, clients(recording, stall, *wanted) / heads) if heads >= _HEADS_MIN else 0.0


def circles_share(recording: Recording, stall: Stall | None) -> float:
    """Deadlocks times what each waited before the server looked for it, over the time; 0 when it is not known."""
    try:
        deadlocks = recording.role("deadlocks")
        # One is counted when it is broken.
        count = (deadlocks if stall is None else deadlocks.during(stall, slack_s=1.5)).total()
        timeout_s = seconds_of(recording.facts, "deadlock_timeout")
    except MissingFact:
        return 0.0
    seconds = stall.seconds if stall is not None else recording.duration_s
    return count * timeout_s / seconds if seconds > 0 else 0.0


def series_of(recording: Recording, *wanted: str) -> tuple[str, ...]:
    """Names of the series that show these waits in this record."""
    return tuple(f"waits.count/{key}" for key in recording.keys("waits") if key in wanted)


def _inside(series: Series, stall: Stall | None) -> Series:
    return series if stall is None else series.during(stall)
