"""deadlock-storm: transactions are rolled back as deadlocks and done again

What is seen: deadlocks every second, a good part of the transactions, and more of them while throughput is low.
LATEST DETECTED DEADLOCK names both statements.

Why it happens: transactions take the same rows in different orders. The search for each costs time with many waiters
on one row, and the work of the one that is rolled back is done again.

Remedy: take rows in one order (sort by key), shorter transactions, an index so that fewer rows are locked, READ
COMMITTED where gap locks do it. With hundreds of threads on one row: detection off and a short
innodb_lock_wait_timeout.

Cost: the application has to be changed; without detection a deadlock lasts until the time-out.

Rivals: waits for row locks without deadlocks; latches.

References: "InnoDB Performance Optimization Basics" (Percona, 2023): the cost of deadlock detection.
"""

from __future__ import annotations

from dbdyno.engines.innodb.diagnoses._server import judged_elsewhere, within
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Stall

_PER_S = 1.0
_SHARE = 0.02
_SHARE_BAD = 0.1


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if judged_elsewhere(recording, stall):
        return None
    deadlocks = within(recording.role("deadlocks"), stall).mean()
    commits = within(recording.role("commits"), stall).mean()
    share = deadlocks / max(1e-9, deadlocks + commits)
    if deadlocks < _PER_S or share < _SHARE:
        return None
    waiting = within(recording.role("row_lock_waits"), stall).mean()
    bad = stall is not None or share >= _SHARE_BAD
    return Finding(
        says=f"{deadlocks:.1f} deadlocks a second, {share:.0%} of the transactions.",
        why="Each costs a search, and the work of the transaction that is rolled back is done again.",
        severity=Severity.WARNING if bad else Severity.ADVICE,
        evidence={
            "deadlocks_per_s": round(deadlocks, 1),
            "commits_per_s": round(commits, 1),
            "clients_waiting_for_rows": round(waiting, 1),
        },
        remedy="Take rows in one order in all transactions, and keep them short; the engine's status shows the latest "
        "pair of statements.",
        risk="The application has to be changed.",
        durability=Level.L3,
        verify="Deadlocks stay below one in a thousand transactions.",
        confidence=0.85,
        ruled_out=(f"waits for row locks alone: {waiting:.1f} clients waited, and {deadlocks:.1f} a second could not",),
        start_s=0.0 if stall is None else None,
        end_s=recording.duration_s if stall is None else None,
        series=tuple(recording.role(role).name for role in ("deadlocks", "commits", "row_lock_waits")),
    )


def _example(*, storm: bool) -> Example:
    example = Example(lowest_per_s=60)
    example.level("innodb.innodb_deadlocks", 0.1, during=40 if storm else 0.1, role="deadlocks")
    example.level("server.com_commit", 1000, during=60, role="commits")
    example.level("innodb.innodb_row_lock_current_waits", 1, during=10, role="row_lock_waits")
    return example


DIAGNOSIS = Diagnosis(
    id="deadlock-storm",
    title="Transactions are rolled back as deadlocks and done again",
    check=check,
    source="InnoDB Performance Optimization Basics (Percona, 2023)",
    bad=lambda: _example(storm=True),
    good=lambda: _example(storm=False),
)
