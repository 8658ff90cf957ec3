"""What SHOW ENGINE INNODB STATUS says, as values. Whatever the text does not hold is None, never 0."""

from __future__ import annotations

from dbdyno.model.record import Record


class Background(Record, frozen=True, kw_only=True):
    """The master thread's loops since the start."""

    loops_active: int | None = None
    loops_shutdown: int | None = None
    loops_idle: int | None = None
    loops_1s: int | None = None
    """Before 5.6 the loops were named by their length."""
    loops_10s: int | None = None
    log_flushes: int | None = None


class LatchWait(Record, frozen=True, kw_only=True):
    """One thread that waits for a mutex or rw-latch at the moment of the text."""

    object: str
    """What the latch protects: `buf_pool`, `index lock`, `log_sys` … (`latches.py`); `unknown` when nothing tells."""
    object_by: str = ""
    """What told: `name` (printed), `line` (known for one version), `caller` (where it waits), `file` (the weakest)."""
    kind: str = ""
    """`mutex`, or the mode that is wanted of an rw-latch: `S`, `SX`, `X`."""
    waited_s: float | None = None
    thread: str = ""
    at_file: str = ""
    """Where the thread waits, and …"""
    at_line: int | None = None
    created_file: str = ""
    """… where the latch was made, as `dict0dict.cc`, without folders."""
    created_line: int | None = None
    holder_thread: str = ""
    holder_mode: str = ""


class Semaphores(Record, frozen=True, kw_only=True):
    reservations: int | None = None
    signals: int | None = None
    mutex_spins: int | None = None
    mutex_rounds: int | None = None
    mutex_os_waits: int | None = None
    rw_shared_spins: int | None = None
    rw_shared_rounds: int | None = None
    rw_shared_os_waits: int | None = None
    rw_excl_spins: int | None = None
    rw_excl_rounds: int | None = None
    rw_excl_os_waits: int | None = None
    rw_sx_spins: int | None = None
    rw_sx_rounds: int | None = None
    rw_sx_os_waits: int | None = None
    waits: tuple[LatchWait, ...] = ()


class LockWait(Record, frozen=True, kw_only=True):
    """A row or table lock that is waited for or held."""

    table: str = ""
    """`schema.table`, without quotes."""
    index: str = ""
    mode: str = ""
    """As printed: `X locks rec but not gap waiting`."""
    space: int | None = None
    page: int | None = None
    trx: str = ""
    waited_s: float | None = None


class Transaction(Record, frozen=True, kw_only=True):
    id: str
    """As printed: decimal, hexadecimal (5.1 to 5.5), two numbers (5.0), or the address of one that has only read."""
    state: str
    """`ACTIVE`, `ACTIVE (PREPARED)`, `not started`, `COMMITTED IN MEMORY` …"""
    age_s: float | None = None
    doing: str = ""
    """What InnoDB does for it: `starting index read`, `inserting`."""
    tables_in_use: int | None = None
    tables_locked: int | None = None
    lock_structs: int | None = None
    row_locks: int | None = None
    undo_entries: int | None = None
    thread: int | None = None
    """The connection's number, as in SHOW PROCESSLIST and KILL."""
    user: str = ""
    """User, host and state, as printed after the query's number."""
    query: str = ""
    read_view: str = ""
    """The line about its read view: such a transaction holds back purge."""
    waiting: LockWait | None = None

    @property
    def active(self) -> bool:
        return not self.state.startswith("not started")


class Transactions(Record, frozen=True, kw_only=True):
    next_id: str = ""
    purge_done_id: str = ""
    purge_done_undo: str = ""
    purge_state: str = ""
    history_list_length: int | None = None
    list: tuple[Transaction, ...] = ()
    shortened: bool = False
    """The server left out a part of the list, because the text has a largest size."""

    @property
    def oldest(self) -> Transaction | None:
        """The active transaction of the greatest age."""
        aged = [one for one in self.list if one.active and one.age_s is not None]
        return max(aged, key=lambda one: one.age_s or 0.0, default=None)

    @property
    def purge_holder(self) -> Transaction | None:
        """Who keeps old row versions alive: the oldest with a read view. Where the text does not show read views
        (MySQL), the oldest active transaction, which may be another's."""
        viewing = [one for one in self.list if one.active and one.read_view and one.age_s is not None]
        return max(viewing, key=lambda one: one.age_s or 0.0, default=self.oldest)

    @property
    def waiting(self) -> tuple[Transaction, ...]:
        return tuple(one for one in self.list if one.waiting is not None)


class DeadlockSide(Record, frozen=True, kw_only=True):
    number: int
    transaction: Transaction | None = None
    waits_for: LockWait | None = None
    holds: LockWait | None = None


class Deadlock(Record, frozen=True, kw_only=True):
    """The latest deadlock since the server's start."""

    at: str = ""
    sides: tuple[DeadlockSide, ...] = ()
    rolled_back: int | None = None
    """Number of the side that was rolled back."""
    too_deep: bool = False
    """The search was given up; the transaction that asked was rolled back."""


class ForeignKeyError(Record, frozen=True, kw_only=True):
    at: str = ""
    table: str = ""
    constraint: str = ""
    thread: int | None = None
    query: str = ""


class FileIo(Record, frozen=True, kw_only=True):
    threads: dict[str, int] = {}
    """How many I/O threads are in each state, as `read: waiting for completed aio requests`."""
    pending_reads: int | None = None
    pending_writes: int | None = None
    pending_ibuf_reads: int | None = None
    pending_log: int | None = None
    pending_sync: int | None = None
    pending_log_fsyncs: int | None = None
    pending_pool_fsyncs: int | None = None
    """From MariaDB 10.8 on the text has one figure for both, which stands here."""
    reads: int | None = None
    writes: int | None = None
    fsyncs: int | None = None
    reads_per_s: float | None = None
    read_bytes_mean: int | None = None
    writes_per_s: float | None = None
    fsyncs_per_s: float | None = None


class ChangeBuffer(Record, frozen=True, kw_only=True):
    """Insert (change) buffer and adaptive hash index."""

    pages: int | None = None
    free_pages: int | None = None
    segment_pages: int | None = None
    merges: int | None = None
    merged_inserts: int | None = None
    hash_cells: int | None = None
    hash_heap_pages: int | None = None
    hash_parts: int | None = None
    hash_searches_per_s: float | None = None
    btree_searches_per_s: float | None = None


class Redo(Record, frozen=True, kw_only=True):
    """Log positions and the checkpoint, in bytes."""

    lsn: int | None = None
    written_lsn: int | None = None
    flushed_lsn: int | None = None
    pages_flushed_lsn: int | None = None
    """Every change before it is in the data files."""
    checkpoint_lsn: int | None = None
    checkpoint_age_bytes: int | None = None
    """Printed by Percona's builds, else the difference of the two positions."""
    checkpoint_age_max_bytes: int | None = None
    """At this age clients are blocked."""
    checkpoint_age_target_bytes: int | None = None
    """From this age on pages are flushed as fast as can be."""
    modified_age_bytes: int | None = None
    pending_writes: int | None = None
    pending_checkpoint_writes: int | None = None
    ios: int | None = None
    ios_per_s: float | None = None


class Pool(Record, frozen=True, kw_only=True):
    """The buffer pool, or one instance of it. Pages of `innodb_page_size`."""

    memory_bytes: int | None = None
    dictionary_bytes: int | None = None
    pages_total: int | None = None
    pages_free: int | None = None
    pages_data: int | None = None
    pages_old: int | None = None
    pages_dirty: int | None = None
    dirty_pct: float | None = None
    dirty_pct_max: float | None = None
    pending_reads: int | None = None
    pending_lru_writes: int | None = None
    pending_list_writes: int | None = None
    pending_single_writes: int | None = None
    made_young: int | None = None
    made_young_per_s: float | None = None
    pages_read: int | None = None
    pages_created: int | None = None
    pages_written: int | None = None
    reads_per_s: float | None = None
    creates_per_s: float | None = None
    writes_per_s: float | None = None
    hits_permille: int | None = None
    """None also when no page was asked for since the last text."""
    read_ahead_per_s: float | None = None
    evicted_unused_per_s: float | None = None
    lru_pages: int | None = None
    lru_flushed: int | None = None
    """`I/O sum`: pages flushed from the LRU list's end in the last minute."""


class Rows(Record, frozen=True, kw_only=True):
    queries_inside: int | None = None
    queries_queued: int | None = None
    read_views: int | None = None
    main_thread: str = ""
    inserted: int | None = None
    updated: int | None = None
    deleted: int | None = None
    read: int | None = None
    inserts_per_s: float | None = None
    updates_per_s: float | None = None
    deletes_per_s: float | None = None
    reads_per_s: float | None = None


class EngineStatus(Record, frozen=True, kw_only=True):
    at: str = ""
    """When the server wrote the text, by its own clock and time zone: `2026-11-20 12:28:05`."""
    interval_s: float | None = None
    """Over how many seconds its rates were taken."""
    background: Background = Background()
    semaphores: Semaphores = Semaphores()
    foreign_key_error: ForeignKeyError | None = None
    deadlock: Deadlock | None = None
    transactions: Transactions = Transactions()
    file_io: FileIo = FileIo()
    change_buffer: ChangeBuffer = ChangeBuffer()
    redo: Redo = Redo()
    pool: Pool = Pool()
    pools: tuple[Pool, ...] = ()
    """The instances, when there are several."""
    rows: Rows = Rows()
    complete: bool = False
    """The text has its end mark."""
    sections: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    """What could not be read: sections and values that are missing, lines that are not known."""
