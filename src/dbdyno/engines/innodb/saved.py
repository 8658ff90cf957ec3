"""Saved texts of SHOW ENGINE INNODB STATUS as a recording: one moment, or several over time.

Times are the server's own. Figures of one moment stand at the time of their text; rates come from the difference of
two texts, and for the first from what it says itself. What the texts do not hold (settings, the age's limit in most
versions) is missing from the recording, so that a diagnosis that needs it says unknown.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Sequence

from dbdyno.engines.innodb.status import EngineStatus, latch_waits, most_frequent, parse_status, parse_statuses
from dbdyno.model.errors import UsageError
from dbdyno.model.fact import Fact
from dbdyno.model.facts import Facts
from dbdyno.model.recording import MemoryRecording, rise_per_s

_STEP_S = 1.0
"""Distance of texts whose time is missing or not later than the one before."""

Read = Callable[[EngineStatus], float | None]

_GAUGES: tuple[tuple[str, str, str, Read], ...] = (
    ("innodb_status.checkpoint_age_bytes", "B", "checkpoint_distance_bytes", lambda s: s.redo.checkpoint_age_bytes),
    (
        "innodb_status.checkpoint_age_limit_bytes",
        "B",
        "checkpoint_age_limit_bytes",
        lambda s: s.redo.checkpoint_age_max_bytes,
    ),
    (
        "innodb_status.history_list_length",
        "",
        "history_list_length",
        lambda s: s.transactions.history_list_length,
    ),
    ("innodb_status.latch_waits", "", "", latch_waits),
    ("innodb_status.lock_waits", "", "row_lock_waits", lambda s: _seen(s, len(s.transactions.waiting))),
    ("innodb_status.active", "", "waiting", lambda s: _seen(s, len(_busy(s)))),
    ("innodb.innodb_buffer_pool_pages_total", "", "", lambda s: s.pool.pages_total),
    ("innodb.innodb_buffer_pool_pages_free", "", "", lambda s: s.pool.pages_free),
    ("innodb.innodb_buffer_pool_pages_data", "", "", lambda s: s.pool.pages_data),
    ("innodb.innodb_buffer_pool_pages_dirty", "", "", lambda s: s.pool.pages_dirty),
    (
        "transactions.oldest_s",
        "s",
        "oldest_transaction_s",
        lambda s: _seen(s, (s.transactions.purge_holder.age_s or 0.0) if s.transactions.purge_holder else 0.0),
    ),
    (
        "transactions.oldest_thread",
        "",
        "",
        lambda s: s.transactions.purge_holder.thread if s.transactions.purge_holder else None,
    ),
)
_RATES: tuple[tuple[str, str, str, Read, Read], ...] = (
    # name, unit, role, the counter, and the rate that the text says itself
    ("innodb_status.lsn_bytes", "B/s", "wal_bytes", lambda s: s.redo.lsn, lambda _: None),
    (
        "innodb.innodb_buffer_pool_pages_flushed",
        "1/s",
        "",
        lambda s: s.pool.pages_written,
        lambda s: s.pool.writes_per_s,
    ),
    (
        "innodb.innodb_buffer_pool_reads",
        "1/s",
        "cache_misses",
        lambda s: s.pool.pages_read,
        lambda s: s.pool.reads_per_s,
    ),
    ("innodb.innodb_data_fsyncs", "1/s", "", lambda s: s.file_io.fsyncs, lambda s: s.file_io.fsyncs_per_s),
    (
        "innodb_status.rows_written",
        "1/s",
        "rows_written",
        lambda s: _sum(s.rows.inserted, s.rows.updated, s.rows.deleted),
        lambda s: _sum(s.rows.inserts_per_s, s.rows.updates_per_s, s.rows.deletes_per_s),
    ),
)


def recognises(text: str) -> bool:
    """Whether it is such a text, or a readable part of one."""
    try:
        status = parse_status(text)
    except UsageError:
        return False
    return bool(status.at or status.sections)


def recording(texts: Sequence[str]) -> MemoryRecording:
    """The texts over time; each may itself hold several. Raises `UsageError` for a text that is none."""
    statuses = [status for text in texts for status in parse_statuses(text)]
    if all(status.at for status in statuses):
        statuses.sort(key=lambda status: status.at)
    t_s = _times(statuses)
    found = MemoryRecording(duration_s=t_s[-1] - t_s[0], facts=_facts(statuses))
    for name, unit, role, read in _GAUGES:
        _add(found, (name, unit, role), t_s, [read(status) for status in statuses])
    for name, unit, role, count, said in _RATES:
        rates = [said(statuses[0])]
        for index in range(1, len(statuses)):
            before, after = count(statuses[index - 1]), count(statuses[index])
            rates.append(rise_per_s(before, after, t_s[index] - t_s[index - 1]))
        _add(found, (name, unit, role), t_s, rates)
    _add_words(found, t_s, statuses)
    return found


def _add(found: MemoryRecording, about: tuple[str, str, str], t_s: list[float], values: list[float | None]) -> None:
    name, unit, role = about
    if any(value is not None for value in values):
        found.add(name, t_s, [math.nan if value is None else value for value in values], unit=unit, role=role)


def _add_words(found: MemoryRecording, t_s: list[float], statuses: list[EngineStatus]) -> None:
    latches, tables, queries = [], [], []
    for time_s, status in zip(t_s, statuses, strict=True):
        latches.append((time_s, most_frequent([one.object for one in status.semaphores.waits]) or ""))
        waits = [one.waiting.table for one in status.transactions.waiting if one.waiting is not None]
        tables.append((time_s, most_frequent(waits) or ""))
        holder = status.transactions.purge_holder
        queries.append((time_s, holder.query.split("\n")[0][:200] if holder else ""))
    found.add_texts("innodb_status.latch_object", latches)
    found.add_texts("innodb_status.lock_wait_table", tables)
    found.add_texts("transactions.oldest_query", queries)


def _facts(statuses: list[EngineStatus]) -> Facts:
    """MariaDB prints one setting into the text."""
    ceilings = [status.pool.dirty_pct_max for status in statuses if status.pool.dirty_pct_max is not None]
    source = "SHOW ENGINE INNODB STATUS"
    return Facts(
        [Fact(name="setting.innodb_max_dirty_pages_pct", value=ceilings[-1], source=source)] if ceilings else []
    )


def _times(statuses: list[EngineStatus]) -> list[float]:
    t_s: list[float] = []
    first: datetime.datetime | None = None
    for status in statuses:
        earliest = t_s[-1] + _STEP_S if t_s else 0.0
        try:
            at = datetime.datetime.strptime(status.at, "%Y-%m-%d %H:%M:%S")
        except ValueError:
            t_s.append(earliest)
            continue
        first = first or at
        seconds = (at - first).total_seconds()
        t_s.append(max(earliest, seconds) if t_s else seconds)
    return t_s


def _busy(status: EngineStatus) -> list[str]:
    return [one.id for one in status.transactions.list if one.active and (one.query or one.waiting)]


def _seen(status: EngineStatus, value: float) -> float | None:
    """None where the list of transactions is not in the text, or only a part of it."""
    whole = "TRANSACTIONS" in status.sections and status.complete and not status.transactions.shortened
    return value if whole else None


def _sum(*numbers: float | None) -> float | None:
    return None if any(number is None for number in numbers) else sum(number or 0.0 for number in numbers)
