"""metadata-lock-queue: a statement that changes a table holds up everybody behind it

What is seen: throughput falls to nothing at once and comes back at once; nearly all clients are in the state `Waiting
for table metadata lock`, and one of them wants to change the table.

Why it happens: ALTER TABLE, TRUNCATE, DROP, OPTIMIZE and LOCK TABLES need a table's definition alone, online ones at
their start and end. While an older transaction still uses it they wait, and every later statement, even a SELECT, waits
behind them.

Remedy: a lock_wait_timeout of a few seconds for such statements, and repeat them at a quiet time; end the transaction
at the head of the queue.

Cost: the statement may need several attempts; the transaction that is ended is rolled back.

Rivals: waits for row locks (seen as lock waits of transactions); FLUSH TABLES WITH READ LOCK (another state).

References: MariaDB manual, "Metadata Locking" (2023); MySQL 8.0 manual, 8.11.4 "Metadata Locking" (2018).
"""

from __future__ import annotations

from collections import Counter

from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.facts import MissingFact
from dbdyno.model.finding import Finding, Fix, Needs
from dbdyno.model.recording import Recording, Series, Stall

_WORD = "metadata lock"
_SHARE = 0.4
_QUEUE = 2
_SLACK_S = 3.0


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is None:
        return None
    busy = _at(recording.series("waits", "count"), stall).mean()
    states = [state for state in recording.keys("waits") if _WORD in state.lower()]
    waiting = sum(_at(recording.series("waits", "count", state), stall).mean() for state in states)
    queue = _at(recording.series("metadata_locks", "waiting"), stall).max()
    alone = _at(recording.series("metadata_locks", "alone"), stall).max()
    if queue < _QUEUE or waiting < _SHARE * busy:
        return None
    wanted = _last(recording, "metadata_locks", "wanted", stall)
    holder, sure = _holder(recording, stall)
    return Finding(
        says=f"{queue:.0f} clients waited for a table's definition"
        + (f" behind `{wanted}`" if wanted and alone else "")
        + (
            f"; connection {holder} {'holds it' if sure else 'has the oldest transaction that does not wait'}."
            if holder
            else "."
        ),
        why="A statement that wants the table alone waits, and all others queue behind it."
        if alone
        else "A statement has the table alone, and all others wait for it.",
        evidence={
            "waiting_share": round(waiting / busy, 2),
            "queue_max": round(queue),
            "wanting_it_alone": round(alone),
            "wanted": wanted,
            "holder": holder,
        },
        remedy="End the transaction at the head; give statements that change tables a lock_wait_timeout.",
        fixes=(
            Fix(
                kind="statement",
                name="lock_wait_timeout",
                value="2",
                live="SET SESSION lock_wait_timeout = 2; -- in the session that changes tables",
                needs=Needs.PERSON,
            ),
            *(
                (Fix(kind="statement", name=f"connection {holder}", live=f"KILL {holder};", needs=Needs.PERSON),)
                if holder
                else ()
            ),
        ),
        risk="The statement may have to be repeated; a killed transaction is rolled back.",
        verify="Nobody is in the state `Waiting for table metadata lock` while the table is changed.",
        confidence=0.95 if alone else 0.85,
        ruled_out=("row locks: clients waited before they could touch a row",),
        series=("metadata_locks.waiting", "metadata_locks.alone"),
    )


def _at(series: Series, stall: Stall) -> Series:
    exact = series.during(stall)
    return exact if len(exact) else series.during(stall, slack_s=_SLACK_S)


def _last(recording: Recording, probe: str, column: str, stall: Stall) -> str:
    said = [text for t_s, text in recording.texts(probe, column) if stall.start_s - 1 <= t_s <= stall.end_s + 1]
    return said[-1] if said else ""


def _holder(recording: Recording, stall: Stall) -> tuple[str, bool]:
    """The connection at the head of the queue, and whether the server itself says so. Where it does not, it is the
    oldest transaction that does not wait, as far as anybody can tell."""
    try:
        behind = {
            key: _at(recording.series("metadata_holders", "waiters", key), stall).max()
            for key in recording.keys("metadata_holders")
        }
        most = max(behind, key=lambda key: behind[key], default="")
        if most and behind[most] > 0:
            return most, True
    except MissingFact:
        pass
    try:
        seen = Counter(f"{thread:.0f}" for thread in _at(recording.series("metadata_locks", "holder"), stall).values)
    except MissingFact:
        return "", False
    seen.pop("0", None)
    return (seen.most_common(1)[0][0], False) if seen else ("", False)


def _example(*, queued: bool) -> Example:
    """Eight clients; in the stall all wait for a table, or for rows of it."""
    example = Example()
    example.level("waits.count/updating", 8, during=0 if queued else 8, role="waiting")
    example.level("waits.count/waiting for table metadata lock", 0, during=8 if queued else 0)
    example.level("metadata_locks.waiting", 0, during=8 if queued else 0)
    example.level("metadata_locks.alone", 0, during=1 if queued else 0)
    example.words("metadata_locks.wanted", "", during="ALTER TABLE accounts ADD COLUMN extra int" if queued else "")
    example.level("metadata_locks.holder", 0, during=42)
    return example


DIAGNOSIS = Diagnosis(
    id="metadata-lock-queue",
    title="A statement that changes a table holds up all others",
    check=check,
    source="MariaDB manual, Metadata Locking (2023)",
    bad=lambda: _example(queued=True),
    good=lambda: _example(queued=False),
)
