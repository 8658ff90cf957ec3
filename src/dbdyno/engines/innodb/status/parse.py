"""Reads SHOW ENGINE INNODB STATUS: MySQL 5.0 to 9, MariaDB 5.5 to 11, Percona Server. A pure function of the text.

The text is a report for people that has changed in each version, and servers cut it at a largest size. So nothing is
taken for granted: a value that is not there is None, a text that ends early gives what stands before the end, and
`unread` says what is missing and which lines no version that we know has written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dbdyno.engines.innodb.status.records import EngineStatus
from dbdyno.engines.innodb.status.sections import (
    read_background,
    read_change_buffer,
    read_file_io,
    read_pool,
    read_pools,
    read_redo,
    read_rows,
)
from dbdyno.engines.innodb.status.semaphores import read_semaphores
from dbdyno.engines.innodb.status.text import REQUIRED, TITLE, shortened, split, take_apart
from dbdyno.engines.innodb.status.transactions import read_deadlock, read_foreign_key_error, read_transactions
from dbdyno.model.fact import Scalar

UNREAD_MAX = 40
"""So many odd lines are kept; their number is said."""

_READERS: dict[str, tuple[str, Callable[[Sequence[str]], tuple[Any, list[str]]]]] = {
    "BACKGROUND THREAD": ("background", read_background),
    "SEMAPHORES": ("semaphores", read_semaphores),
    "LATEST FOREIGN KEY ERROR": ("foreign_key_error", read_foreign_key_error),
    "LATEST DETECTED DEADLOCK": ("deadlock", read_deadlock),
    "TRANSACTIONS": ("transactions", read_transactions),
    "FILE I/O": ("file_io", read_file_io),
    "LOG": ("redo", read_redo),
    "BUFFER POOL AND MEMORY": ("pool", read_pool),
    "INDIVIDUAL BUFFER POOL INFO": ("pools", read_pools),
    "ROW OPERATIONS": ("rows", read_rows),
}
_CHANGE_BUFFER = ("INSERT BUFFER AND ADAPTIVE HASH INDEX", "INSERT BUFFER", "ADAPTIVE HASH INDEX")

_EXPECTED = (
    ("LOG", "redo", ("lsn", "flushed_lsn", "checkpoint_lsn")),
    ("BUFFER POOL AND MEMORY", "pool", ("pages_total", "pages_free", "pages_data", "pages_dirty")),
    ("TRANSACTIONS", "transactions", ("history_list_length",)),
    ("FILE I/O", "file_io", ("reads", "writes", "fsyncs")),
)


def parse_status(text: str) -> EngineStatus:
    """One status text. Raises `UsageError` when it is none. Of several texts in one, the first is read."""
    found = take_apart(split(text)[0])
    fields: dict[str, Any] = {}
    odd: list[str] = []
    for title, (name, read) in _READERS.items():
        if title in found.sections:
            fields[name], unknown = read(found.sections[title])
            odd += [f"{title}: {shortened(line)}" for line in unknown]
    change_buffer = [line for title in _CHANGE_BUFFER for line in found.sections.get(title, ())]
    fields["change_buffer"], unknown = read_change_buffer(change_buffer)
    odd += [f"{_CHANGE_BUFFER[0]}: {shortened(line)}" for line in unknown]
    unread = list(found.unread)
    if not found.complete:
        last = list(found.sections)[-1] if found.sections else "the heading"
        unread.append(f"the text has no end mark ({'END OF ' + TITLE!r}); the last that is there is {last}")
    if not found.at:
        unread.append("the heading with the time is missing")
    unread += [f"section {title} is not in the text" for title in REQUIRED if title not in found.sections]
    for title, name, expected in _EXPECTED:
        if title in found.sections:
            lacking = [field for field in expected if getattr(fields[name], field) is None]
            unread += [f"{title}: {field} is not in the text" for field in lacking]
    if "transactions" in fields and fields["transactions"].shortened:
        unread.append("TRANSACTIONS: the server left out a part of the list, because the text is too long")
    unread += odd[:UNREAD_MAX]
    if len(odd) > UNREAD_MAX:
        unread.append(f"and {len(odd) - UNREAD_MAX} more lines that are not known")
    return EngineStatus(
        at=found.at,
        interval_s=found.interval_s,
        complete=found.complete,
        sections=tuple(found.sections),
        unread=tuple(unread),
        **fields,
    )


def parse_statuses(text: str) -> tuple[EngineStatus, ...]:
    """All status texts of a file, in their order: a log of the monitor, or a collection over time."""
    return tuple(parse_status(one) for one in split(text))


def innodb_status_row(text: str) -> dict[str, Scalar]:
    """The figures of a status text as the one row of a probe; what the text does not say is left out."""
    status = parse_status(text)
    redo, pool, io, semaphores = status.redo, status.pool, status.file_io, status.semaphores
    waiting = status.transactions.waiting
    row: dict[str, Scalar | None] = {
        "lsn_bytes": redo.lsn,
        "flushed_lsn_bytes": redo.flushed_lsn,
        "checkpoint_lsn_bytes": redo.checkpoint_lsn,
        "checkpoint_age_bytes": redo.checkpoint_age_bytes,
        "checkpoint_age_limit_bytes": redo.checkpoint_age_max_bytes,
        "checkpoint_age_target_bytes": redo.checkpoint_age_target_bytes,
        "modified_age_bytes": redo.modified_age_bytes,
        "pending_log_writes": redo.pending_writes,
        "pending_checkpoint_writes": redo.pending_checkpoint_writes,
        "history_list_length": status.transactions.history_list_length,
        "pages_total": pool.pages_total,
        "pages_free": pool.pages_free,
        "pages_data": pool.pages_data,
        "pages_dirty": pool.pages_dirty,
        "pending_reads": pool.pending_reads,
        "pending_lru_writes": pool.pending_lru_writes,
        "pending_list_writes": pool.pending_list_writes,
        "pending_single_writes": pool.pending_single_writes,
        "lru_flushed": pool.lru_flushed,
        "pending_log_fsyncs": io.pending_log_fsyncs,
        "pending_pool_fsyncs": io.pending_pool_fsyncs,
        "latch_waits": latch_waits(status),
        "latch_wait_ms_max": None
        if latch_waits(status) is None
        else 1000 * max((one.waited_s or 0.0 for one in semaphores.waits), default=0.0),
        "latch_object": most_frequent([one.object for one in semaphores.waits]),
        "mutex_os_waits": semaphores.mutex_os_waits,
        "rw_shared_os_waits": semaphores.rw_shared_os_waits,
        "rw_excl_os_waits": semaphores.rw_excl_os_waits,
        "rw_sx_os_waits": semaphores.rw_sx_os_waits,
        "lock_waits": len(waiting) if "TRANSACTIONS" in status.sections else None,
        "lock_wait_table": most_frequent([one.waiting.table for one in waiting if one.waiting is not None]),
        "queries_inside": status.rows.queries_inside,
        "queries_queued": status.rows.queries_queued,
        "read_views": status.rows.read_views,
        "deadlock_at": status.deadlock.at if status.deadlock else None,
        "unread": len(status.unread),
    }
    return {name: value for name, value in row.items() if value is not None}


def latch_waits(status: EngineStatus) -> int | None:
    """Threads that wait for a latch. None where the server keeps no count of them (MariaDB from 10.6 on): an empty
    section is not calm."""
    counted = status.semaphores.reservations is not None
    return len(status.semaphores.waits) if counted or status.semaphores.waits else None


def most_frequent(words: Sequence[str]) -> str | None:
    """The most frequent word, and how often it stands there: `index lock (12)`."""
    if not words:
        return None
    best = max(sorted(set(words)), key=words.count)
    return f"{best} ({words.count(best)})"
