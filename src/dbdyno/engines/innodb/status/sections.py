"""The sections of counters: background thread, log, buffer pool, file I/O, insert buffer, row operations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeVar

from dbdyno.engines.innodb.status.records import Background, ChangeBuffer, FileIo, Pool, Redo, Rows
from dbdyno.engines.innodb.status.text import Value, fill, pattern, position

B = TypeVar("B", Background, ChangeBuffer, FileIo, Pool, Redo, Rows)

BACKGROUND = (
    pattern(
        "srv_master_thread loops: # srv_active, # srv_shutdown, # srv_idle",
        *("loops_active", "loops_shutdown", "loops_idle"),
    ),
    pattern("srv_master_thread loops: # srv_active, # srv_idle", "loops_active", "loops_idle"),
    pattern(
        "srv_master_thread loops: # 1_second, # sleeps, # 10_second, # background, # flush",
        *("loops_1s", "_", "loops_10s", "_", "_"),
    ),
    pattern("srv_master_thread log flush and writes: #", "log_flushes"),
)
_POSITIONS = {
    "Log sequence number": "lsn",
    "Log written up to": "written_lsn",
    "Log flushed up to": "flushed_lsn",
    "Pages flushed up to": "pages_flushed_lsn",
    "Last checkpoint at": "checkpoint_lsn",
    "Max checkpoint age": "checkpoint_age_max_bytes",
    "Checkpoint age target": "checkpoint_age_target_bytes",
    "Modified age": "modified_age_bytes",
    "Checkpoint age": "checkpoint_age_bytes",
    "Log buffer assigned up to": "",
    "Log buffer completed up to": "",
    "Added dirty pages up to": "",
    "Log minimum file id is": "",
    "Log maximum file id is": "",
    "Log minimum file lsn (inlog)": "",
    "Log maximum file lsn": "",
    "Log capacity": "",
}
_POSITION = re.compile(r"^(?P<name>[A-Z][A-Za-z() ]*?) +(?P<value>\d{1,19}(?: +\d{1,10})?)$")
REDO = (
    pattern("# pending log writes, # pending chkp writes", "pending_writes", "pending_checkpoint_writes"),
    pattern("# pending log flushes, # pending chkp writes", "pending_writes", "pending_checkpoint_writes"),
    pattern("# log i/o's done, % log i/o's/second", "ios", "ios_per_s"),
    pattern("Log tracking enabled"),
    pattern("Log tracked up to #", "_"),
    pattern("Max tracked LSN age #", "_"),
)
POOL = (
    pattern("Total large memory allocated #", "memory_bytes"),
    pattern("Total memory allocated #; in additional pool allocated #", "memory_bytes", "_"),
    pattern("Total memory allocated by read views #", "_"),
    pattern("Total memory allocated #", "memory_bytes"),
    pattern("Dictionary memory allocated #", "dictionary_bytes"),
    pattern("Internal hash tables (constant factor + variable factor)"),
    pattern("Adaptive hash index # *(# + #)", "_", "_", "_"),
    pattern("Page hash # (buffer pool 0 only)", "_"),
    pattern("Dictionary cache # *(# + #)", "_", "_", "_"),
    pattern("File system # *(# + #)", "_", "_", "_"),
    pattern("Lock system # *(# + #)", "_", "_", "_"),
    pattern("Recovery system # *(# + #)", "_", "_", "_"),
    pattern("Buffer pool size, bytes #", "_"),
    pattern("Buffer pool size #", "pages_total"),
    pattern("Free buffers #", "pages_free"),
    pattern("Database pages #", "pages_data"),
    pattern("Old database pages #", "pages_old"),
    pattern("Modified db pages #", "pages_dirty"),
    pattern("Percent of dirty pages(LRU & free pages): %", "dirty_pct"),
    pattern("Max dirty pages percent: %", "dirty_pct_max"),
    pattern("Pending reads #", "pending_reads"),
    pattern(
        "Pending writes: LRU #, flush list #, single page #",
        *("pending_lru_writes", "pending_list_writes", "pending_single_writes"),
    ),
    pattern("Pending writes: LRU #, flush list #", "pending_lru_writes", "pending_list_writes"),
    pattern("Pages made young #, not young #", "made_young", "_"),
    pattern("% youngs/s, % non-youngs/s", "made_young_per_s", "_"),
    pattern("Pages read #, created #, written #", "pages_read", "pages_created", "pages_written"),
    pattern("% reads/s, % creates/s, % writes/s", "reads_per_s", "creates_per_s", "writes_per_s"),
    pattern("Buffer pool hit rate # / #, young-making rate # / # not # / #", "hits_permille", *"_____"),
    pattern("Buffer pool hit rate # / #", "hits_permille", "_"),
    pattern("No buffer pool page gets since the last printout"),
    pattern(
        "Pages read ahead %/s, evicted without access %/s, Random read ahead %/s",
        *("read_ahead_per_s", "evicted_unused_per_s", "_"),
    ),
    pattern("Pages read ahead %/s, evicted without access %/s", "read_ahead_per_s", "evicted_unused_per_s"),
    pattern("LRU len: #, unzip_LRU len: #", "lru_pages", "_"),
    pattern("I/O sum[#]:cur[#], unzip sum[#]:cur[#]", "lru_flushed", "_", "_", "_"),
)
FILE_IO = (
    pattern("Pending flushes (fsync) log: #; buffer pool: #", "pending_log_fsyncs", "pending_pool_fsyncs"),
    pattern("Pending flushes (fsync): #", "pending_pool_fsyncs"),
    pattern("# OS file reads, # OS file writes, # OS fsyncs", "reads", "writes", "fsyncs"),
    pattern(
        "% reads/s, # avg bytes/read, % writes/s, % fsyncs/s",
        *("reads_per_s", "read_bytes_mean", "writes_per_s", "fsyncs_per_s"),
    ),
    pattern("# pending preads, # pending pwrites", "_", "_"),
)
_IO_THREAD = re.compile(r"^I/O thread \d+ state: (?P<state>.*?) \((?P<role>[a-z ]+) thread\)")
_PENDING_AIO = re.compile(r"^Pending normal aio reads:(?P<reads>[^a-z]*), aio writes:(?P<writes>[^a-z]*)$")
_PENDING_OTHER = re.compile(
    r"^ibuf aio reads:(?P<ibuf>[^a-z]*), log i/o's:(?P<log>[^a-z]*), sync i/o's:(?P<sync>[^a-z]*)$"
)
CHANGE_BUFFER = (
    pattern("Ibuf: size #, free list len #, seg size #, # merges", "pages", "free_pages", "segment_pages", "merges"),
    pattern("Ibuf: size #, free list len #, seg size #", "pages", "free_pages", "segment_pages"),
    pattern("# inserts, # merged recs, # merges", "_", "merged_inserts", "merges"),
    pattern("Ibuf for space #: size #, free list len #, seg size #", *"____"),
    pattern("merged operations:"),
    pattern("discarded operations:"),
    pattern("insert #, delete mark #, delete #", "merged_inserts", "_", "_"),
    pattern("% hash searches/s, % non-hash searches/s", "hash_searches_per_s", "btree_searches_per_s"),
)
_HASH = re.compile(
    r"^Hash table size (?P<cells>\d{1,18})(?:, used cells \d+)?(?:, node heap has (?P<heap>\d{1,18}) buffer\(s\))?$"
)
ROWS = (
    pattern("# queries inside InnoDB, # queries in queue", "queries_inside", "queries_queued"),
    pattern("# read views open inside InnoDB", "read_views"),
    pattern("# transactions active inside InnoDB", "_"),
    pattern("# RW transactions active inside InnoDB", "_"),
    pattern("# out of # descriptors used", "_", "_"),
    pattern("# tablespace extents now reserved for B-tree split operations", "_"),
    pattern("Number of rows inserted #, updated #, deleted #, read #", "inserted", "updated", "deleted", "read"),
    pattern(
        "% inserts/s, % updates/s, % deletes/s, % reads/s",
        *("inserts_per_s", "updates_per_s", "deletes_per_s", "reads_per_s"),
    ),
    pattern("Number of system rows inserted #, updated #, deleted #, read #", *"____"),
)
_MAIN_THREAD = re.compile(r"^(?:(?:Main thread |Process ID).*?)?\bstate ?[:=] ?(?P<state>.*)$")
_OLDEST_VIEW = re.compile(r"^(?:---OLDEST VIEW---|Normal read view|Purge read view|Read view .*|\d+(?: \d+)*)$")


def _made(kind: type[B], fields: dict[str, Any]) -> B:
    return kind(**fields)


def read_background(lines: Sequence[str]) -> tuple[Background, list[str]]:
    fields, unknown = fill(lines, BACKGROUND)
    return _made(Background, dict(fields)), unknown


def read_redo(lines: Sequence[str]) -> tuple[Redo, list[str]]:
    """The age is derived from the positions where the server does not print it."""
    fields: dict[str, Value] = {}
    rest: list[str] = []
    for line in lines:
        found = _POSITION.match(line.strip())
        name = _POSITIONS.get(found["name"]) if found is not None else None
        if found is None or name is None:
            rest.append(line)
        elif name:
            fields[name] = position(found["value"])
    others, unknown = fill(rest, REDO)
    fields.update(others)
    if "lsn" in fields and "checkpoint_lsn" in fields:
        fields.setdefault("checkpoint_age_bytes", max(0, fields["lsn"] - fields["checkpoint_lsn"]))
    return _made(Redo, dict(fields)), unknown


def read_pool(lines: Sequence[str]) -> tuple[Pool, list[str]]:
    fields, unknown = fill(lines, POOL)
    return _made(Pool, dict(fields)), unknown


def read_pools(lines: Sequence[str]) -> tuple[tuple[Pool, ...], list[str]]:
    """The section of the pool's instances."""
    parts: list[list[str]] = []
    unknown: list[str] = []
    for line in lines:
        if line.startswith("---BUFFER POOL "):
            parts.append([])
        elif parts:
            parts[-1].append(line)
    pools = []
    for part in parts:
        pool, odd = read_pool(part)
        pools.append(pool)
        unknown += odd
    return tuple(pools), unknown


def read_file_io(lines: Sequence[str]) -> tuple[FileIo, list[str]]:
    threads: Counter[str] = Counter()
    fields: dict[str, Any] = {}
    rest: list[str] = []
    for line in (line.strip() for line in lines):
        if thread := _IO_THREAD.match(line):
            threads[f"{thread['role']}: {thread['state']}"] += 1
        elif aio := _PENDING_AIO.match(line):
            fields.update(pending_reads=_pending(aio["reads"]), pending_writes=_pending(aio["writes"]))
        elif other := _PENDING_OTHER.match(line):
            fields.update(
                pending_ibuf_reads=_pending(other["ibuf"]),
                pending_log=_pending(other["log"]),
                pending_sync=_pending(other["sync"]),
            )
        else:
            rest.append(line)
    numbers, unknown = fill(rest, FILE_IO)
    return FileIo(threads=dict(threads), **fields, **numbers), unknown  # type: ignore[arg-type]


def _pending(text: str) -> int | None:
    """`0`, `0 [0, 0]` (total, then each thread) or `[0, 1]` (each thread); nothing where the version counts none."""
    numbers = [int(number) for number in re.findall(r"\d{1,18}", text)]
    if not numbers:
        return None
    return sum(numbers) if text.strip().startswith("[") else numbers[0]


def read_change_buffer(lines: Sequence[str]) -> tuple[ChangeBuffer, list[str]]:
    parts: list[tuple[int, int | None]] = []
    rest: list[str] = []
    for line in lines:
        found = _HASH.match(line.strip())
        if found is None:
            rest.append(line)
        else:
            parts.append((int(found["cells"]), int(found["heap"]) if found["heap"] else None))
    fields, unknown = fill(rest, CHANGE_BUFFER)
    hashes: dict[str, Any] = {}
    if parts:
        heaps = [heap for _, heap in parts if heap is not None]
        hashes = {
            "hash_cells": sum(cells for cells, _ in parts),
            "hash_parts": len(parts),
            "hash_heap_pages": sum(heaps) if heaps else None,
        }
    return ChangeBuffer(**hashes, **fields), unknown  # type: ignore[arg-type]


def read_rows(lines: Sequence[str]) -> tuple[Rows, list[str]]:
    state = ""
    rest: list[str] = []
    for line in (line.strip() for line in lines):
        if found := _MAIN_THREAD.match(line):
            state = found["state"].strip()
        elif not _OLDEST_VIEW.match(line):
            rest.append(line)
    fields, unknown = fill(rest, ROWS)
    return Rows(main_thread=state, **fields), unknown  # type: ignore[arg-type]
