"""row-lock-pile-up: clients queue for row locks that one transaction holds

What is seen: many transactions wait for a row lock of the same table, behind one connection, which is often idle in its
transaction or does something slow. Throughput falls while the machine is idle.

Why it happens: a row lock is kept until its transaction ends. Whoever wants the same row waits for all of it: statement
times, round trips to the client, the sync at commit.

Remedy: shorter transactions; the hot row touched last; the counter row divided into several.

Cost: the application has to be changed; a killed transaction is rolled back.

Rivals: latches (seen as semaphores); a lock of the whole table by DDL (clients wait for metadata); deadlocks.

References: "InnoDB Performance Optimization Basics" (Percona, 2023): many threads on one lock.
"""

from __future__ import annotations

from dbdyno.engines.innodb.diagnoses._server import judged_elsewhere, severity, window
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.facts import MissingFact
from dbdyno.model.finding import Finding, Fix
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Series, Stall
from dbdyno.model.units import seconds_text

_WAITING = 2.5
_SHARE = 0.4
_SLACK_S = 3.0
_TABLE_QUEUE = 2


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if judged_elsewhere(recording, stall):
        return None
    locks, clients = recording.role("row_lock_waits"), recording.role("waiting")
    locks.max()  # Nothing but holes is unknown.
    where = window(recording, locks, stall, _WAITING)
    if where is None:
        return None
    waiting = _at(locks, where)
    busy = _at(clients, where).mean()
    if waiting.mean() < _WAITING or waiting.mean() < _SHARE * busy:
        return None
    if _behind_a_table(recording, where):
        return None  # Whoever holds the rows waits for a table: the queue is only its shadow.
    holder, held_s = _holder(recording, where)
    table = _table(recording, where)
    return Finding(
        says=f"{waiting.mean():.1f} of {max(busy, waiting.mean()):.1f} busy clients waited for row locks"
        + (f" of {table}" if table else "")
        + (f"; connection {holder} held them, its transaction {seconds_text(held_s)} old." if holder else "."),
        why="A row lock is kept until its transaction ends.",
        severity=severity(recording, stall),
        evidence={
            "clients_waiting": round(waiting.mean(), 1),
            "clients_busy": round(busy, 1),
            "holder": holder,
            "table": table,
        },
        remedy="Shorten the transaction that holds the lock: touch the hot row last, and commit at once.",
        fixes=(Fix(kind="statement", name=f"connection {holder}", live=f"KILL {holder};"),) if holder else (),
        risk="What a killed transaction changed is rolled back.",
        durability=Level.L3,
        verify="Innodb_row_lock_current_waits stays near 0.",
        confidence=0.9 if holder else 0.75,
        ruled_out=(_deadlocks(recording, where),),
        start_s=where[0],
        end_s=where[1],
        series=(locks.name, clients.name),
    )


def _at(series: Series, where: tuple[float, float]) -> Series:
    """The values in that stretch; of what is asked rarely, the nearest around it."""
    exact = series.between(*where)
    return exact if len(exact) else series.between(where[0] - _SLACK_S, where[1] + _SLACK_S)


def _behind_a_table(recording: Recording, where: tuple[float, float]) -> bool:
    """Whether a statement wanted a table alone, and others queued for the table behind it."""
    try:
        waiting, alone = (recording.series("metadata_locks", name) for name in ("waiting", "alone"))
        return _at(waiting, where).max() >= _TABLE_QUEUE and _at(alone, where).max() >= 1
    except MissingFact:
        return False


def _holder(recording: Recording, where: tuple[float, float]) -> tuple[str, float]:
    """The connection with the most waiters behind it, and its transaction's age; empty where nobody can see it."""
    try:
        behind = {
            key: _at(recording.series("lock_waits", "waiters", key), where) for key in recording.keys("lock_waits")
        }
        most = max(behind, key=lambda key: behind[key].max(), default="")
        if not most or behind[most].max() <= 0:
            return "", 0.0
        return most, _at(recording.series("lock_waits", "holder_age_s", most), where).max()
    except MissingFact:
        return "", 0.0


def _deadlocks(recording: Recording, where: tuple[float, float]) -> str:
    try:
        return f"deadlocks: {_at(recording.role('deadlocks'), where).total():.0f} in that time"
    except MissingFact:
        return "deadlocks: a client in one does not wait, it is rolled back"


def _table(recording: Recording, where: tuple[float, float]) -> str:
    for probe, column in (("lock_waits", "locked_table"), ("innodb_status", "lock_wait_table")):
        try:
            texts = recording.texts(probe, column)
        except MissingFact:
            continue
        for t_s, word in texts:
            if where[0] - _SLACK_S <= t_s <= where[1] + _SLACK_S:
                return word.partition(" (")[0]
    return ""


def _example(*, locks: bool) -> Example:
    example = Example(lowest_per_s=30)
    example.level("innodb.innodb_row_lock_current_waits", 0.2, during=14 if locks else 0.2, role="row_lock_waits")
    example.level("waits.count/updating", 2, during=16, role="waiting")
    example.level("lock_waits.waiters/42", 0, during=14 if locks else 0)
    example.level("lock_waits.holder_age_s/42", 0, during=9)
    example.words("lock_waits.locked_table/42", "", during="shop.counter")
    example.level("innodb.innodb_deadlocks", 0, role="deadlocks")
    return example


DIAGNOSIS = Diagnosis(
    id="row-lock-pile-up",
    title="Clients queue for row locks that one transaction holds",
    check=check,
    source="InnoDB Performance Optimization Basics (Percona, 2023)",
    bad=lambda: _example(locks=True),
    good=lambda: _example(locks=False),
)
