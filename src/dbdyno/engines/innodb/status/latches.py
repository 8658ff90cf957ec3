"""From a latch as the text prints it to what it protects.

Versions print latches in four ways: file and line of its making (up to 5.6; the line differs in each version), an
expression in quotes (`'&log_sys->mutex'`, some 5.6 builds), a name in capitals (5.7 and later: `Mutex BUF_POOL`), or
nothing at all (MariaDB 10.6 removed its wait array). So the name decides when there is one; else a line that is known
for a version; else, where one file makes several latches, the place of the waiter; else the file.

Sources: the SEMAPHORES lines of “Tuning for heavy writing workloads” (undated, about 2009: 5.1.39 with XtraDB 1.0.4),
“Introducing percona-patches for 5.1” (undated, about 2010); names of `sync0types.h` as MySQL 8.0's manual lists them
below performance_schema `wait/synch/{mutex,sxlock}/innodb/…`.
"""

from __future__ import annotations

INDEX_LOCK = "index lock"
DICTIONARY = "dict_operation_lock"

_NAMES = {
    "BUF_POOL": "buf_pool",
    "BUF_POOL_LRU_LIST": "buf_pool",
    "BUF_POOL_FREE_LIST": "buf_pool",
    "BUF_POOL_FLUSH_STATE": "buf_pool",
    "BUF_POOL_CHUNKS": "buf_pool",
    "BUF_POOL_ZIP": "buf_pool",
    "BUF_POOL_ZIP_HASH": "buf_pool",
    "BUF_POOL_ZIP_FREE": "buf_pool",
    "FLUSH_LIST": "flush_list",
    "BUF_FLUSH_LIST": "flush_list",
    "BUF_DBLWR": "doublewrite",
    "BUF_BLOCK_MUTEX": "page latch",
    "BUF_BLOCK": "page latch",
    "HASH_TABLE_MUTEX": "page hash",
    "TRX_SYS": "trx_sys",
    "TRX_SYS_SERIALISATION": "trx_sys",
    "TRX_SYS_SHARD": "trx_sys",
    "RW_TRX_HASH_ELEMENT": "trx_sys",
    "TRX": "trx",
    "TRX_UNDO": "trx",
    "TRX_MANAGER": "trx",
    "TRX_POOL": "trx",
    "TRX_POOL_MANAGER": "trx",
    "RSEG": "rseg",
    "REDO_RSEG": "rseg",
    "NOREDO_RSEG": "rseg",
    "TEMP_SPACE_RSEG": "rseg",
    "UNDO_SPACE_RSEG": "rseg",
    "PURGE_SYS_PQ": "purge_sys",
    "LOG_SYS": "log_sys",
    "LOG_SYS_WRITE": "log_sys",
    "LOG_WRITE": "log_sys",
    "LOG_FLUSH": "log_sys",
    "LOG_FLUSH_ORDER": "log_sys",
    "LOG_WRITER": "log_sys",
    "LOG_FLUSHER": "log_sys",
    "LOG_CHECKPOINTER": "log_sys",
    "LOG_CLOSER": "log_sys",
    "LOG_WRITE_NOTIFIER": "log_sys",
    "LOG_FLUSH_NOTIFIER": "log_sys",
    "LOG_LIMITS": "log_sys",
    "LOG_SN": "log_sys",
    "LOG_SN_MUTEX": "log_sys",
    "LOG_CMDQ": "log_sys",
    "RECV_SYS": "recovery",
    "RECV_WRITER": "recovery",
    "DICT_SYS": "dict_sys",
    "DICT_TABLE": "dict_table",
    "DICT_FOREIGN_ERR": "dict_sys",
    "AUTOINC": "autoinc",
    "DICT_AUTOINC": "autoinc",
    "LOCK_SYS": "lock_sys",
    "LOCK_MUTEX": "lock_sys",
    "LOCK_SYS_WAIT": "lock_sys",
    "LOCK_WAIT": "lock_sys",
    "LOCK_SYS_PAGE": "lock_sys",
    "LOCK_SYS_TABLE": "lock_sys",
    "FIL_SYSTEM": "fil_system",
    "FIL_SHARD": "fil_system",
    "FIL_CRYPT": "fil_system",
    "IBUF": "change buffer",
    "IBUF_BITMAP": "change buffer",
    "IBUF_PESSIMISTIC_INSERT": "change buffer",
    "SRV_SYS": "srv_sys",
    "SRV_SYS_TASKS": "srv_sys",
    "SRV_INNODB_MONITOR": "monitor",
    "SRV_MISC_TMPFILE": "monitor",
    "SRV_DICT_TMPFILE": "monitor",
    "PAGE_CLEANER": "page cleaner",
    "OS_AIO_READ_MUTEX": "aio",
    "OS_AIO_WRITE_MUTEX": "aio",
    "OS_AIO_LOG_MUTEX": "aio",
    "OS_AIO_IBUF_MUTEX": "aio",
    "OS_AIO_SYNC_MUTEX": "aio",
    "FTS_DELETE": "full-text",
    "FTS_OPTIMIZE": "full-text",
    "FTS_CACHE": "full-text",
    "ROW_DROP_LIST": "dict_sys",
    "ZIP_PAD_MUTEX": "page compression",
    "SYNC_ARRAY_MUTEX": "sync array",
    "SYNC_THREAD": "sync array",
    "READ_VIEW": "trx_sys",
    "MONITOR": "monitor",
}

# Beginnings of expressions in quotes, and of `latch->field` forms, as some 5.6 builds print them.
_EXPRESSIONS = (
    ("buf_pool", "buf_pool"),
    ("block->lock", "page latch"),
    ("block->mutex", "page latch"),
    ("buf_block", "page latch"),
    ("bpage", "page latch"),
    ("log_sys", "log_sys"),
    ("trx_sys", "trx_sys"),
    ("rseg", "rseg"),
    ("trx->", "trx"),
    ("trx_", "trx"),
    ("purge_sys", "purge_sys"),
    ("dict_operation_lock", DICTIONARY),
    ("dict_sys", "dict_sys"),
    ("index->lock", INDEX_LOCK),
    ("new_index->lock", INDEX_LOCK),
    ("btr_search_latch", "btr_search"),
    ("lock_sys", "lock_sys"),
    ("kernel_mutex", "kernel_mutex"),
    ("srv_sys", "srv_sys"),
    ("fil_system", "fil_system"),
    ("space->latch", "tablespace"),
    ("ibuf", "change buffer"),
    ("array->mutex", "aio"),
)

# File and line where it is certain: (file, line) of MySQL 5.1.39 with XtraDB 1.0.4.
_LINES = {
    ("dict0dict.c", 1627): INDEX_LOCK,
    ("dict0dict.c", 623): DICTIONARY,
    ("trx0rseg.c", 167): "rseg",
    ("srv0srv.c", 982): "kernel_mutex",
}

# By the file that makes it, without its ending: what a mutex of it is, and what an rw-latch of it is.
_FILES = {
    "buf0buf": ("buf_pool", "page latch"),
    "buf0lru": ("buf_pool", "page latch"),
    "buf0flu": ("page cleaner", "page cleaner"),
    "buf0dblwr": ("doublewrite", "doublewrite"),
    "buf0rea": ("buf_pool", "page latch"),
    "hash0hash": ("page hash", "page hash"),
    "btr0sea": ("btr_search", "btr_search"),
    "log0log": ("log_sys", "log_sys"),
    "log0recv": ("recovery", "recovery"),
    "log0online": ("log_sys", "log_sys"),
    "trx0sys": ("trx_sys", "trx_sys"),
    "trx0rseg": ("rseg", "rseg"),
    "trx0purge": ("purge_sys", "purge_sys"),
    "trx0trx": ("trx", "trx"),
    "trx0roll": ("trx", "trx"),
    "trx0undo": ("rseg", "rseg"),
    "read0read": ("trx_sys", "trx_sys"),
    "lock0lock": ("lock_sys", "lock_sys"),
    "lock0wait": ("lock_sys", "lock_sys"),
    "fil0fil": ("fil_system", "tablespace"),
    "fsp0fsp": ("tablespace", "tablespace"),
    "ibuf0ibuf": ("change buffer", "change buffer"),
    "mem0pool": ("memory pool", "memory pool"),
    "mem0mem": ("memory pool", "memory pool"),
    "os0file": ("aio", "aio"),
    "srv0conc": ("thread concurrency", "thread concurrency"),
    "sync0sync": ("sync array", "sync array"),
    "sync0arr": ("sync array", "sync array"),
    "thr0loc": ("thread local", "thread local"),
    "dict0mem": ("dict_table", "dict_table"),
    "dict0stats": ("dict_sys", "dict_sys"),
    "dict0dict": ("dict_sys", ""),
    "srv0srv": ("", "srv_sys"),
    "row0mysql": ("dict_sys", "dict_sys"),
    "fts0fts": ("full-text", "full-text"),
    "fts0opt": ("full-text", "full-text"),
    "ha_innodb": ("ha_innodb", "ha_innodb"),
}

# Who waits for an index tree's lock; the others take the dictionary's lock.
_TREE_CALLERS = (
    "btr0",
    "row0sel",
    "row0ins",
    "row0upd",
    "row0row",
    "row0pread",
    "page0",
    "mtr0",
    "ibuf0",
    "dict0stats",
)


def object_of(
    *, mutex: bool, mode: str, name: str, expression: str, file: str, line: int | None, caller: str
) -> tuple[str, str]:
    """What the latch protects, and by what that is known: `name`, `line`, `caller`, `file`, or empty for `unknown`."""
    base = file.rsplit("/", 1)[-1]
    named = _named(name, expression)
    if named:
        return named, "name"
    if line is not None and (base, line) in _LINES:
        return _LINES[base, line], "line"
    stem, _, ending = base.partition(".")
    if stem == "dict0dict" and not mutex:
        of_tree = mode == "SX" or caller.rsplit("/", 1)[-1].startswith(_TREE_CALLERS)
        return (INDEX_LOCK if of_tree else DICTIONARY), "caller"
    if stem == "srv0srv" and mutex:
        # One mutex for transactions, locks and threads until 5.5, whose sources end in .c; divided in 5.6.
        return ("kernel_mutex" if ending == "c" else "srv_sys"), "file"
    of_mutex, of_latch = _FILES.get(stem, ("", ""))
    what = of_mutex if mutex else of_latch
    return (what, "file") if what else (name.lower() or "unknown", "name" if name else "")


def _named(name: str, expression: str) -> str:
    if name in _NAMES:
        return _NAMES[name]
    bare = expression.lstrip("&").removeprefix("(").strip()
    return next((what for beginning, what in _EXPRESSIONS if bare.startswith(beginning)), "")
