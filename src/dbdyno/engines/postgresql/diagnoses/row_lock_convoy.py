"""row-lock-convoy: clients queue for the same rows

What is seen: most busy clients wait for a transaction that changed the row they want (wait events `transactionid` and
`tuple`). More clients make it no faster. In the worst case one transaction sits on the row and does nothing.

Why it happens: a row that is changed by every transaction (a counter, a balance) is changed by one at a time, and is
held until its commit is on disk.

Remedy: change the hot row last in the transaction, keep transactions short, or spread the row over several and sum
them. idle_in_transaction_session_timeout ends those that sleep on it.

Cost: a change of the application. The time-out cancels transactions of clients that pause.

Rivals: locks on whole tables; a slow commit, which lengthens every wait (then waits for the log lead).

References: PostgreSQL 15 manual, 13.3.2 "Row-Level Locks" (2022); catalogue of InnoDB's like case: "InnoDB Performance
Optimization Basics" (Percona, 2022).
"""

from __future__ import annotations

from dbdyno.engines.postgresql.diagnoses._settings import setting
from dbdyno.engines.postgresql.diagnoses._waits import (
    CIRCLES,
    LOG_SYNC,
    REPLICA,
    ROW_LOCK,
    TABLE_LOCK,
    circles_share,
    clients,
    head_share,
    series_of,
    share,
)
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.recording import Recording, Stall

_SHARE = 0.5
_WAITING_MIN = 2.0
"""Fewer waiting clients are no queue."""


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    rows = share(recording, stall, *ROW_LOCK)
    waiting = clients(recording, stall, *ROW_LOCK)
    if rows < _SHARE or waiting < _WAITING_MIN:
        return None
    if head_share(recording, stall, *REPLICA) >= _SHARE:
        return None  # The owners of the rows wait for a replica: the queue is only its shadow.
    log, tables = share(recording, stall, *LOG_SYNC), share(recording, stall, *TABLE_LOCK)
    by_commit = stall is not None and head_share(recording, stall, *LOG_SYNC) >= _SHARE
    in_circles = circles_share(recording, stall) >= CIRCLES
    start_s, end_s = (stall.start_s, stall.end_s) if stall else (0.0, recording.duration_s)
    holders = [who for t_s, who in recording.texts("lockqueue", "holder") if start_s <= t_s <= end_s]
    asleep = [who for who in holders if "idle in transaction" in who]
    slept = len(asleep) >= 0.5 * len(holders) > 0
    where = "in the stall" if stall else "over the whole record"
    return Finding(
        says=f"{waiting:.1f} clients waited for rows that others had changed {where}: {rows:.0%} of the busy clients' "
        "time" + (f"; the row was held by {asleep[-1]}." if slept else "."),
        why="A row is changed by one transaction at a time and held until its commit is on disk.",
        severity=Severity.WARNING if stall or slept else Severity.ADVICE,
        evidence={
            "row_lock_share": round(rows, 2),
            "waiting_clients": round(waiting, 1),
            "log_sync_share": round(log, 2),
            "holder": asleep[-1] if slept else "",
        },
        remedy="End the transaction that sleeps on the row."
        if slept
        else "Change the hot row last in its transaction, or spread it over several rows.",
        fixes=(setting(recording.facts, "idle_in_transaction_session_timeout", 30_000),) if slept else (),
        risk="The time-out cancels transactions of clients that pause longer." if slept else "The application changes.",
        verify="The share of waits for transactionid and tuple falls.",
        # Who waits in a circle may be seen between two statements: that is no transaction that sleeps.
        confidence=0.5 if in_circles or (by_commit and not slept) else 0.9,
        ruled_out=(
            f"locks on whole tables: {tables:.0%} of the clients' time",
            f"slow commits alone: {log:.0%} of the clients' time",
        ),
        start_s=start_s,
        end_s=end_s,
        series=series_of(recording, *ROW_LOCK),
    )


def _example(*, hot: bool) -> Example:
    """Sixteen clients; in the stall fourteen wait for a row, or for the log."""
    example = Example()
    example.level("waits.count/CPU/running", 4, during=2, role="waiting")
    example.level("waits.count/Lock/transactionid", 0.2, during=14 if hot else 0)
    example.level("waits.count/IO/WALSync", 0.2, during=0 if hot else 14)
    example.words("lockqueue.holder", "", during="process 4711, idle in transaction, transaction of 9 s")
    example.fact("setting.idle_in_transaction_session_timeout", 0, unit="ms")
    return example


DIAGNOSIS = Diagnosis(
    id="row-lock-convoy",
    title="Clients queue for the same rows",
    check=check,
    source="PostgreSQL 15 manual, 13.3.2 Row-Level Locks (2022)",
    bad=lambda: _example(hot=True),
    good=lambda: _example(hot=False),
)
