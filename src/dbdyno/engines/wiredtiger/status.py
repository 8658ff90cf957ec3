"""The numbers of serverStatus that tell of stalls, under one name whatever the version calls them.

Where a counter lies has changed: tickets under `wiredTiger.concurrentTransactions` until 7, since 8.0 under
`queues.execution`; checkpoints under `wiredTiger.transaction`, later under `wiredTiger.checkpoint`; the history store
was called cache overflow before 4.4; Percona's in-memory engine has a section of its own name with the same figures.
Sources: MongoDB manual, "serverStatus" (2024); WiredTiger manual, "Statistics" (2024).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Document = Mapping[str, Any]
Path = tuple[str, ...]
_TIMESTAMP_SECOND = 1 << 32
"""A timestamp holds seconds in its upper 32 bits, a counter in the lower."""
_PINNED_S_MAX = 10 * 365 * 86400.0
"""Without any timestamp set, the difference is the whole clock since 1970: nothing is pinned."""
_STORES = ("wiredTiger", "inMemory")


@dataclass(frozen=True)
class Column:
    """A number by its path; the first of several that is there. `store` stands for the storage engine's section."""

    name: str
    paths: tuple[Path, ...]
    unit: str = ""
    scale: float = 1.0
    role: str = ""


def _cache(text: str) -> Path:
    return ("store", "cache", text)


def _txn(text: str) -> Path:
    return ("store", "transaction", text)


_EVICTING = "application thread time evicting (usecs)"
GAUGES = (
    Column("cache_bytes", (_cache("bytes currently in the cache"),), "B"),
    Column("cache_dirty_bytes", (_cache("tracked dirty bytes in the cache"),), "B"),
    Column("cache_updates_bytes", (_cache("bytes allocated for updates"),), "B"),
    Column("cache_bytes_max", (_cache("maximum bytes configured"),), "B"),
    *(
        Column(
            f"{kind}_tickets_{name}",
            (("queues", "execution", kind, key), ("store", "concurrentTransactions", kind, key)),
        )
        for kind in ("read", "write")
        for name, key in (("free", "available"), ("used", "out"))
    ),
    Column("queued", (("globalLock", "currentQueue", "total"),), role="waiting"),
    Column("active", (("globalLock", "activeClients", "total"),)),
    Column("connections", (("connections", "current"),), role="connections"),
    Column("connections_free", (("connections", "available"),)),
    Column(
        "checkpoint_running",
        (_txn("transaction checkpoint currently running"), ("store", "checkpoint", "progress state")),
    ),
    Column(
        "checkpoint_last_s",
        (_txn("transaction checkpoint most recent time (msecs)"), ("store", "checkpoint", "most recent time (msecs)")),
        "s",
        1e-3,
    ),
    Column("lagged", (("flowControl", "isLagged"),)),
    Column(
        "reader_pinned_s",
        (_txn("transaction range of timestamps pinned by the oldest active read timestamp"),),
        "s",
        1 / _TIMESTAMP_SECOND,
    ),
    Column(
        "oldest_pinned_s",
        (_txn("transaction range of timestamps pinned by the oldest timestamp"),),
        "s",
        1 / _TIMESTAMP_SECOND,
    ),
    Column(
        "history_bytes",
        (_cache("history store table on-disk size"), _cache("cache overflow table on-disk size")),
        "B",
    ),
)
COUNTERS = (
    Column(
        "evicted_by_clients",
        (_cache("pages evicted by application threads"), _cache("page evict attempts by application threads")),
        "1/s",
    ),
    Column("evicted_clean", (_cache("unmodified pages evicted"),), "1/s"),
    Column("evicted_dirty", (_cache("modified pages evicted"),), "1/s"),
    Column("clients_evicting_s", (("store", "thread-yield", _EVICTING), _cache(_EVICTING)), "s/s", 1e-6),
    Column("clients_read_s", (_cache("application threads page read from disk to cache time (usecs)"),), "s/s", 1e-6),
    Column("clients_reads", (_cache("application threads page read from disk to cache count"),), "1/s"),
    Column(
        "checkpoint_s",
        (_txn("transaction checkpoint total time (msecs)"), ("store", "checkpoint", "total time (msecs)")),
        "s/s",
        1e-3,
    ),
    Column("journal_syncs", (("store", "log", "log sync operations"),), "1/s"),
    Column("journal_sync_s", (("store", "log", "log sync time duration (usecs)"),), "s/s", 1e-6),
    Column(
        "history_inserts",
        (_cache("history store table insert calls"), _cache("cache overflow table insert calls")),
        "1/s",
    ),
    Column("throttled_s", (("flowControl", "timeAcquiringMicros"),), "s/s", 1e-6),
    Column("member_waits", (("metrics", "getLastError", "wtime", "num"),), "1/s"),
    Column("member_wait_s", (("metrics", "getLastError", "wtime", "totalMillis"),), "s/s", 1e-3),
    Column("connections_made", (("connections", "totalCreated"),), "1/s", role="sessions_opened"),
    Column("write_conflicts", (("metrics", "operation", "writeConflicts"),), "1/s"),
)
_WRITES = ("insert", "update", "delete")
_OPERATIONS = (*_WRITES, "query")


def value(document: Document, column: Column) -> float | None:
    """None where the document does not have it."""
    for path in column.paths:
        found = _at(document, path)
        if found is not None:
            scaled = found * column.scale
            return 0.0 if column.name.endswith("pinned_s") and not 0 <= scaled < _PINNED_S_MAX else scaled
    return None


def operations(document: Document) -> float | None:
    """Reads and writes of clients since the start."""
    return _sum(document, _OPERATIONS)


def writes(document: Document) -> float | None:
    return _sum(document, _WRITES)


def is_status(document: object) -> bool:
    """Whether it is an answer of serverStatus, perhaps without what names its host."""
    return isinstance(document, dict) and {"connections", "uptime", "opcounters"} <= set(document)


def _sum(document: Document, names: tuple[str, ...]) -> float | None:
    found = [_at(document, ("opcounters", name)) for name in names]
    return None if None in found else sum(one for one in found if one is not None)


def _at(document: Document, path: Path) -> float | None:
    if path[0] == "store":
        return next((one for store in _STORES if (one := _at(document, (store, *path[1:]))) is not None), None)
    inner: Any = document
    for key in path:
        if not isinstance(inner, dict) or key not in inner:
            return None
        inner = inner[key]
    return float(inner) if isinstance(inner, bool | int | float) else None
