"""deadlock-circles: transactions wait for each other in a circle until the server breaks it

What is seen: deadlocks again and again, while clients wait for rows (wait events `transactionid` and `tuple`).

Why it happens: transactions take the same rows in different orders. A process looks for a circle only after it has
waited for deadlock_timeout, a second by default; all that time both transactions hold whatever they have locked, and
others queue behind them. The work of the one that is rolled back is done again.

Remedy: take rows in one order (sort by key, or lock them first with SELECT … FOR UPDATE ORDER BY), shorter
transactions. A shorter deadlock_timeout breaks circles sooner.

Cost: the application has to be changed; a shorter deadlock_timeout looks for circles more often, at the cost of
processor time.

Rivals: a queue for a row without a circle (then no deadlocks are counted).

References: PostgreSQL 15 manual, 13.3.4 "Deadlocks" and 20.12 "Lock Management" (2022).
"""

from __future__ import annotations

from dbdyno.engines.postgresql.diagnoses._settings import seconds_of
from dbdyno.engines.postgresql.diagnoses._waits import CIRCLES, ROW_LOCK, circles_share, clients, series_of
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Stall
from dbdyno.model.units import seconds_text

_SHARE = 0.001
"""Of the transactions: fewer deadlocks are an accident that the application repeats."""
_SLACK_S = 1.5
_COUNT_MIN = 3


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    deadlocks, commits = recording.role("deadlocks"), recording.role("commits")
    if stall is not None:
        deadlocks = deadlocks.during(stall, slack_s=_SLACK_S)
        commits = commits.during(stall, slack_s=_SLACK_S)
    count, done = deadlocks.total(), commits.total()
    timeout_s = seconds_of(recording.facts, "deadlock_timeout")
    seconds = stall.seconds if stall is not None else recording.duration_s
    held = circles_share(recording, stall)
    enough = count >= (1 if stall is not None and stall.seconds < _COUNT_MIN * timeout_s else _COUNT_MIN)
    if not enough or held < CIRCLES or count < _SHARE * done:
        return None
    waiting = clients(recording, stall, *ROW_LOCK)
    return Finding(
        says=f"{count:.0f} deadlocks in {seconds_text(seconds)}, each after a wait of {seconds_text(timeout_s)}; "
        f"{waiting:.1f} clients waited for rows.",
        why="A circle of waiting transactions stands for deadlock_timeout, with all that they have locked.",
        evidence={
            "deadlocks": round(count),
            "commits": round(done),
            "deadlock_timeout_s": timeout_s,
            "clients_waiting_for_rows": round(waiting, 1),
        },
        severity=Severity.WARNING if stall is not None or held >= 1.0 else Severity.ADVICE,
        remedy="Take rows in one order in all transactions, and keep them short; the server's log names the statements "
        "of each circle.",
        durability=Level.L3,
        risk="The application has to be changed.",
        verify="database.deadlocks does not grow.",
        confidence=0.85,
        ruled_out=("a queue without a circle: the server found circles and broke them",),
        series=("database.deadlocks", "database.commits", *series_of(recording, *ROW_LOCK)),
    )


def _example(*, circles: bool) -> Example:
    """In the stall two deadlocks a second, or one transaction that sits on the row that all want."""
    example = Example(lowest_per_s=50)
    example.level("database.deadlocks", 0, during=2 if circles else 0, role="deadlocks")
    example.level("database.commits", 1000, during=50, role="commits")
    example.level("waits.count/CPU/running", 4, during=0.2, role="waiting")
    example.level("waits.count/Lock/transactionid", 0.2, during=7)
    example.fact("setting.deadlock_timeout", 1000, unit="ms")
    return example


DIAGNOSIS = Diagnosis(
    id="deadlock-circles",
    title="Transactions wait for each other in a circle until the server breaks it",
    check=check,
    source="PostgreSQL 15 manual, 13.3.4 Deadlocks (2022)",
    bad=lambda: _example(circles=True),
    good=lambda: _example(circles=False),
)
