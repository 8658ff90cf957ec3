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
_SLACK_S = 3.0


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is not None:
        return None  # It sinks slowly: the whole record shows it.
    length = recording.role("history_list_length")
    top, top_s = length.max(), length.peak_s()
    climb = length.between(float(length.t_s[0]), top_s)
    grown, began_s = top - climb.min(), _lowest_s(climb)
    single = recording.duration_s <= 0
    ages = recording.role("oldest_transaction_s").between(top_s - _SLACK_S, top_s + _SLACK_S)
    oldest = ages.max()
    holder = oldest >= max(_HOLDER_S, _COVERS * min(top_s - began_s, 600.0))
    endless = length.last() >= 0.9 * top and _rises(length)
    grew = grown >= _GROWTH and (holder or endless)
    if not (grew or top >= _LONG or (single and holder and top >= _LONG_AT_ONCE)):
        return None
    whom = _whom(recording, top_s) if holder else ""
    return Finding(
        says=f"The history list came to {top:.0f} undo logs and grew by {grown:.0f}; "
        + (f"the oldest transaction was {seconds_text(oldest)} old{whom}." if holder else "no transaction was old."),
        why="No undo log that the oldest read view may need is removed."
        if holder
        else "The purge threads are slower than the clients that change rows.",
        severity=Severity.WARNING if holder or top >= _LONG else Severity.ADVICE,
        evidence={
            "history_list_length": round(top),
            "grown_by": round(grown),
            "oldest_transaction_s": round(oldest, 1),
            "holder": whom.strip(" ()"),
        },
        remedy="End the old transaction, and find out why it stays open." if holder else "Use more purge threads.",
        fixes=_fixes(recording, top_s, holder=holder),
        risk="What the transaction changed is rolled back." if holder else "Purge threads take CPU and reads.",
        durability=Level.L3,
        verify="The history list falls.",
        confidence=0.9 if holder else 0.7,
        ruled_out=("purge threads that are too few: an old transaction holds them all back",)
        if holder
        else (f"an old transaction: the oldest was {seconds_text(oldest)} old",),
        start_s=began_s,
        end_s=top_s,
        series=tuple(recording.role(role).name for role in ("history_list_length", "oldest_transaction_s")),
    )


def _rises(length: Series) -> bool:
    """Whether the second half of the record still climbs: a list that purge has caught up with is no lag."""
    half = float(length.t_s[0] + length.t_s[-1]) / 2
    return length.between(half, float(length.t_s[-1])).rise() > 0


def _lowest_s(climb: Series) -> float:
    """When the climb began."""
    return float(climb.t_s[int(np.nanargmin(climb.values))])


def _oldest_at_s(recording: Recording, top_s: float) -> float:
    """When the oldest transaction was oldest, near the top: soon after it the holder may be gone, and another one be
    the oldest."""
    return recording.role("oldest_transaction_s").between(top_s - _SLACK_S, top_s + _SLACK_S).peak_s()


def _thread(recording: Recording, top_s: float) -> str:
    """The holder's connection; empty where nobody can see it."""
    try:
        threads, at_s = recording.series("transactions", "oldest_thread"), _oldest_at_s(recording, top_s)
    except MissingFact:
        return ""
    thread = float(threads.values[int(np.argmin(np.abs(threads.t_s - at_s)))])
    return f"{thread:.0f}" if thread > 0 else ""


def _whom(recording: Recording, top_s: float) -> str:
    thread, at_s = _thread(recording, top_s), _oldest_at_s(recording, top_s)
    if not thread:
        return ""
    try:
        said = recording.texts("transactions", "oldest_query")
    except MissingFact:
        said = []
    words = [text for t_s, text in said if abs(t_s - at_s) < 1.0]
    return f" (connection {thread}" + (f": {words[-1]})" if words else ", idle in it)")


def _fixes(recording: Recording, top_s: float, *, holder: bool) -> tuple[Fix, ...]:
    if not holder:
        threads = number(recording.facts, "innodb_purge_threads", 4.0)
        return (setting(recording.facts, "innodb_purge_threads", min(32, round(2 * threads))),)
    thread = _thread(recording, top_s)
    return (Fix(kind="statement", name=f"connection {thread}", live=f"KILL {thread};"),) if thread else ()


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
