"""purge-lag: old row versions pile up

What is seen: the history list grows without end; throughput sinks slowly over minutes. Either a transaction is as old
as the growth, or none is.

Why it happens: an undo log may be removed only when no read view needs it. An old transaction holds all of them back,
also one that only reads. Without one, the purge threads are slower than the clients that change rows.

Remedy: end the old transaction (commit sooner, no idle transactions, KILL); without one, more innodb_purge_threads.

Cost: the killed transaction is rolled back; purge threads take CPU and reads.

Rivals: purge against an old transaction: its age tells; a sinking buffer pool hit rate alone.

References: "Tuning for heavy writing workloads" (undated, of MySQL 5.1.39, about 2009): throughput falls with the
history list, steady with purge threads of its own.
"""

from __future__ import annotations

import numpy as np

from dbdyno.engines.innodb.diagnoses._server import number, setting
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.facts import MissingFact
from dbdyno.model.finding import Finding, Fix, Severity
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Series, Stall
from dbdyno.model.units import seconds_text

_GROWTH = 10_000.0
_LONG = 1_000_000.0
_LONG_AT_ONCE = 50_000.0
_HOLDER_S = 15.0
_COVERS = 0.7


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is not None:
        return None  # It sinks slowly: the whole record shows it.
    length = recording.role("history_list_length")
    last, low = length.last(), length.min()
    single = recording.duration_s <= 0
    grows = last - low >= _GROWTH and last >= 0.9 * length.max() and _rises(length)
    if not (grows or last >= _LONG or (single and last >= _LONG_AT_ONCE)):
        return None
    oldest = recording.role("oldest_transaction_s").last()
    holder = oldest >= max(_HOLDER_S, _COVERS * min(recording.duration_s, 600.0))
    if single and not holder and last < _LONG:
        return None
    whom = _whom(recording) if holder else ""
    return Finding(
        says=f"The history list is {last:.0f} undo logs long and grew by {last - low:.0f}; "
        + (f"the oldest transaction is {seconds_text(oldest)} old{whom}." if holder else "no transaction is old."),
        why="No undo log that the oldest read view may need is removed."
        if holder
        else "The purge threads are slower than the clients that change rows.",
        severity=Severity.WARNING if holder or last >= _LONG else Severity.ADVICE,
        evidence={
            "history_list_length": round(last),
            "grown_by": round(last - low),
            "oldest_transaction_s": round(oldest, 1),
            "holder": whom.strip(" ()"),
        },
        remedy="End the old transaction, and find out why it stays open." if holder else "Use more purge threads.",
        fixes=_fixes(recording, holder=holder),
        risk="What the transaction changed is rolled back." if holder else "Purge threads take CPU and reads.",
        durability=Level.L3,
        verify="The history list falls.",
        confidence=0.9 if holder else 0.7,
        ruled_out=("purge threads that are too few: an old transaction holds them all back",)
        if holder
        else (f"an old transaction: the oldest is {seconds_text(oldest)} old",),
        start_s=0.0 if not single else None,
        end_s=recording.duration_s if not single else None,
        series=tuple(recording.role(role).name for role in ("history_list_length", "oldest_transaction_s")),
    )


def _rises(length: Series) -> bool:
    """Whether the second half of the record still climbs: a list that purge has caught up with is no lag."""
    half = float(length.t_s[0] + length.t_s[-1]) / 2
    return length.between(half, float(length.t_s[-1])).rise() > 0


def _whom(recording: Recording) -> str:
    try:
        thread = recording.series("transactions", "oldest_thread").last()
        words = [text for _, text in recording.texts("transactions", "oldest_query")]
    except MissingFact:
        return ""
    doing = f": {words[-1]}" if words else ", idle"
    return f" (connection {thread:.0f}{doing})"


def _fixes(recording: Recording, *, holder: bool) -> tuple[Fix, ...]:
    if not holder:
        threads = number(recording.facts, "innodb_purge_threads", 4.0)
        return (setting(recording.facts, "innodb_purge_threads", min(32, round(2 * threads))),)
    try:
        thread = recording.series("transactions", "oldest_thread").last()
    except MissingFact:
        return ()
    return (Fix(kind="statement", name=f"connection {thread:.0f}", live=f"KILL {thread:.0f};"),)


def _example(*, lag: bool) -> Example:
    """A transaction as old as the record, with the list growing by 2,000 a second; or a list that stays short."""
    example = Example(stall=None)
    rate = 2000.0 if lag else 0.0
    example.curve("innodb.innodb_history_list_length", lambda t: 500 + rate * t, role="history_list_length")
    example.curve("transactions.oldest_s", lambda t: t + 1 if lag else np.mod(t, 3), role="oldest_transaction_s")
    example.level("transactions.oldest_thread", 42)
    example.words("transactions.oldest_query", "")
    example.fact("setting.innodb_purge_threads", 4)
    return example


DIAGNOSIS = Diagnosis(
    id="purge-lag",
    title="Old row versions pile up",
    check=check,
    source="Tuning for heavy writing workloads (undated, of MySQL 5.1.39, about 2009)",
    bad=lambda: _example(lag=True),
    good=lambda: _example(lag=False),
)
