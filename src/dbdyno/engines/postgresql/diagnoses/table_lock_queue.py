"""table-lock-queue: a statement that wants a table alone holds up everybody behind it

What is seen: throughput falls to nothing at once and comes back at once; nearly all clients wait for a lock on a table
(wait event `relation`), and one of them wants an AccessExclusiveLock.

Why it happens: ALTER TABLE, TRUNCATE, VACUUM FULL and the like need a table alone. While an older transaction still
uses it they wait, and every later statement, even a SELECT, waits behind them.

Remedy: give such statements a lock_timeout of a second or two and repeat them, at a quiet time; end the transaction at
the head of the queue.

Cost: the statement may need several attempts.

Rivals: waits for single rows (wait events `transactionid`, `tuple`); an exclusive lock that is held for long work
itself (then its owner does not wait).

References: PostgreSQL 15 manual, 13.3.1 "Table-Level Locks" (2022).
"""

from __future__ import annotations

from dbdyno.engines.postgresql.diagnoses._waits import ROW_LOCK, TABLE_LOCK, share
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Fix, Needs
from dbdyno.model.recording import Recording, Stall

_SHARE = 0.4


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is None:
        return None
    tables, rows = share(recording, stall, *TABLE_LOCK), share(recording, stall, *ROW_LOCK)
    queue = recording.series("lockqueue", "relation_waiting").during(stall).max()
    exclusive = recording.series("lockqueue", "exclusive_waiting").during(stall).max()
    if tables < _SHARE or queue < 2:
        return None
    holders = [who for t_s, who in recording.texts("lockqueue", "holder") if stall.start_s - 1 <= t_s <= stall.end_s]
    wanted = [what for t_s, what in recording.texts("lockqueue", "wanted") if stall.start_s - 1 <= t_s <= stall.end_s]
    holder, want = (holders or [""])[-1], (wanted or [""])[-1]
    pid = holder.removeprefix("process ").partition(",")[0]
    says = f"{queue:.0f} clients waited for a table" + (f" ({want})" if want else "")
    return Finding(
        says=says + (f"; at the head of the queue: {holder}." if holder else "."),
        why="A statement that wants the table alone waits, and all others queue behind it."
        if exclusive
        else "The table is held alone by a transaction, and all others wait for it.",
        evidence={
            "waiting_for_table_share": round(tables, 2),
            "queue_max": round(queue),
            "waiting_to_have_it_alone": round(exclusive),
            "holder": holder,
            "wanted": want,
        },
        remedy="End the transaction at the head; give statements that change tables a lock_timeout.",
        fixes=(
            Fix(
                kind="statement",
                name="lock_timeout",
                value="2s",
                live="SET lock_timeout = '2s'; -- in the session that changes tables",
                needs=Needs.PERSON,
            ),
            *(
                (
                    Fix(
                        kind="statement",
                        name="pg_terminate_backend",
                        value=pid,
                        live=f"SELECT pg_terminate_backend({pid});",
                        needs=Needs.PERSON,
                    ),
                )
                if pid.isdigit()
                else ()
            ),
        ),
        risk="The statement may have to be repeated; a terminated transaction is rolled back.",
        verify="lockqueue.relation_waiting stays 0 while the table is changed.",
        confidence=0.95 if exclusive else 0.8,
        ruled_out=(
            f"row locks: {rows:.0%} of the clients' time",
            "a slow disk: clients waited for a lock, not for input or output",
        ),
        series=("lockqueue.relation_waiting", "lockqueue.exclusive_waiting", "waits.count/Lock/relation"),
    )


def _example(*, queued: bool) -> Example:
    """Eight clients; in the stall all wait for a table, or for rows."""
    example = Example()
    example.level("waits.count/CPU/running", 8, during=0, role="waiting")
    example.level("waits.count/Lock/relation", 0, during=8 if queued else 0)
    example.level("waits.count/Lock/transactionid", 0, during=0 if queued else 8)
    example.level("lockqueue.relation_waiting", 0, during=8 if queued else 0)
    example.level("lockqueue.exclusive_waiting", 0, during=1 if queued else 0)
    example.words("lockqueue.holder", "", during="process 4711, idle in transaction, transaction of 75 s")
    example.words("lockqueue.wanted", "", during="AccessExclusiveLock on accounts")
    return example


DIAGNOSIS = Diagnosis(
    id="table-lock-queue",
    title="A statement that wants a table alone holds up all others",
    check=check,
    source="PostgreSQL 15 manual, 13.3.1 Table-Level Locks (2022)",
    bad=lambda: _example(queued=True),
    good=lambda: _example(queued=False),
)
