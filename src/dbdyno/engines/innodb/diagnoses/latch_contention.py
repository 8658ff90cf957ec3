"""latch-contention: threads wait for one of InnoDB's latches

What is seen: in SEMAPHORES several threads wait, most of them for the same latch, in text after text;
performance_schema (where it counts them) shows the time. CPU is used up by spinning, or not used at all.

Why it happens: a latch protects one structure of memory. More clients on one structure (one index tree, one rollback
segment, one buffer pool instance) than it lets through one after the other wait.

Remedy: divide what the latch protects; which, depends on the object. Then the next latch becomes the first: repeat.

Cost: as the remedy says; some need a restart or a rebuild.

Rivals: row locks, which are seen as lock waits of transactions and not as semaphores.

Of MySQL only: MariaDB from 10.6 on does not tell who waits for a latch.

References: "Tuning for heavy writing workloads" (undated, of MySQL 5.1.39, about 2009); "Introducing percona-patches
for 5.1" (Percona, 2010); "InnoDB Performance Optimization Basics" (Percona, 2023).
"""

from __future__ import annotations

from collections import Counter

from dbdyno.engines.innodb.diagnoses._server import judged_elsewhere, setting, severity, window
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Fix
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Stall

_THREADS = 3.0
_MOST = 0.4
_SLACK_S = 3.0

_REMEDIES: dict[str, tuple[str, str, int | str]] = {
    # object: (what to do, setting or empty, value)
    "index lock": ("Partition the table whose index tree it is, so that each part has a lock of its own.", "", ""),
    "dict_operation_lock": (
        "Keep statistics from being taken while clients work, and tables from being created.",
        "innodb_stats_on_metadata",
        "OFF",
    ),
    "rseg": ("Use more rollback segments.", "innodb_rollback_segments", 128),
    "kernel_mutex": ("Nothing divides it in this version: 5.6 and later have none.", "", ""),
    "buf_pool": ("Divide the buffer pool.", "innodb_buffer_pool_instances", 8),
    "page latch": ("Many clients want one page: spread the hot rows over more pages, or take smaller pages.", "", ""),
    "btr_search": ("Switch the adaptive hash index off.", "innodb_adaptive_hash_index", "OFF"),
    "log_sys": ("Write the log less often in small pieces: a larger log buffer.", "innodb_log_buffer_size", 64 << 20),
    "trx_sys": ("Use fewer connections at once, with a pool.", "", ""),
    "lock_sys": ("Search for deadlocks less: let waits time out.", "innodb_deadlock_detect", "OFF"),
    "doublewrite": ("Write to a faster device, or several at once.", "", ""),
    "change buffer": ("Switch the change buffer off.", "innodb_change_buffering", "none"),
    "fil_system": ("Keep more files open.", "", ""),
}


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if judged_elsewhere(recording, stall):
        return None
    waits = recording.series("innodb_status", "latch_waits")
    waits.max()  # Nothing but holes is unknown.
    where = window(recording, waits, stall, _THREADS)
    if where is None:
        return None
    waits = waits.between(where[0] - _SLACK_S, where[1] + _SLACK_S) if stall is not None else waits.between(*where)
    what, seen = _most_frequent(recording, where)
    if not what or waits.mean() < _THREADS:
        return None
    row_locks = recording.series("innodb_status", "lock_waits")
    row_locks = row_locks.between(where[0] - _SLACK_S, where[1] + _SLACK_S)
    remedy, name, value = _REMEDIES.get(what, ("Find out which structure it is, and divide it.", "", ""))
    fixes: tuple[Fix, ...] = (setting(recording.facts, name, value),) if name else ()
    return Finding(
        says=f"{waits.mean():.1f} threads at a time waited for a latch, most for {what} (up to {seen} at once).",
        why="More clients use what it protects than it lets through one after the other.",
        severity=severity(recording, stall),
        evidence={"latch": what, "threads_waiting": round(waits.mean(), 1), "threads_waiting_max": round(waits.max())},
        remedy=remedy,
        fixes=fixes,
        risk="Measure it: the next latch may be as narrow." + _RISKS.get(what, ""),
        durability=Level.L3,
        verify="The semaphores name another latch, or none, under the same load.",
        confidence=0.8 if waits.mean() >= 2 * _THREADS else 0.6,
        ruled_out=(f"row locks: {row_locks.mean():.1f} transactions waited for one",),
        start_s=where[0],
        end_s=where[1],
        series=("innodb_status.latch_waits", "innodb_status.latch_object"),
    )


_RISKS = {
    "lock_sys": " Without detection a deadlock lasts until innodb_lock_wait_timeout.",
    "btr_search": " Point look-ups may become slower.",
}


def _most_frequent(recording: Recording, where: tuple[float, float]) -> tuple[str, int]:
    """The object named in most texts, and the most threads that waited for it. Words look like `index lock (12)`."""
    seen: Counter[str] = Counter()
    most: dict[str, int] = {}
    for t_s, text in recording.texts("innodb_status", "latch_object"):
        if not where[0] - _SLACK_S <= t_s <= where[1] + _SLACK_S:
            continue
        what, _, rest = text.rpartition(" (")
        count = int(rest.rstrip(")")) if rest.rstrip(")").isdigit() else 0
        seen[what] += count
        most[what] = max(most.get(what, 0), count)
    if not seen:
        return "", 0
    what, count = seen.most_common(1)[0]
    return (what, most[what]) if count >= _MOST * sum(seen.values()) else ("", 0)


def _example(*, waiting: bool) -> Example:
    example = Example(lowest_per_s=100)
    example.level("innodb_status.latch_waits", 0.1, during=20 if waiting else 0.1)
    example.level("innodb_status.lock_waits", 0, during=1 if waiting else 20)
    example.words("innodb_status.latch_object", "log_sys (1)", during="index lock (18)" if waiting else "log_sys (1)")
    return example


DIAGNOSIS = Diagnosis(
    id="latch-contention",
    title="Threads wait for one of InnoDB's latches",
    check=check,
    source="Tuning for heavy writing workloads (undated, of MySQL 5.1.39, about 2009)",
    bad=lambda: _example(waiting=True),
    good=lambda: _example(waiting=False),
)
