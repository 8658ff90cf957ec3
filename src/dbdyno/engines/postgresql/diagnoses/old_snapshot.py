"""old-snapshot: an old transaction keeps dead rows from being cleaned

What is seen: the oldest snapshot grows older while many transactions pass, dead rows pile up and are not cleaned, and
throughput falls slowly: every statement reads past more dead versions.

Why it happens: a row that was deleted or replaced can be cleaned only when no snapshot can still see it. One
transaction that is left open, a replica's feedback, a slot or a prepared transaction holds up cleaning in all tables.

Remedy: end the holder; idle_in_transaction_session_timeout against sessions that sleep; reports on a replica or in
shorter transactions.

Cost: the ended transaction is rolled back.

Rivals: cleaning that is too slow for the changes although nothing holds it; a table that autovacuum has not come to
yet.

References: PostgreSQL 15 manual, 25.1.2 "Recovering Disk Space" (2022).
"""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.engines.postgresql.diagnoses._settings import setting
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Fix, Needs, Severity
from dbdyno.model.recording import Recording, Stall
from dbdyno.model.units import seconds_text

_TRANSACTIONS_MIN = 1000.0
_LONG_S = 300.0
_SHORT_S = 10.0
_FALLEN = 0.8
_KEPT = 0.5
"""Share of the changed rows that stayed as dead ones while the snapshot was held."""


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is not None:
        return None
    age = recording.series("horizon", "age")
    dead = recording.role("dead_rows")
    holder = max(recording.keys("horizon"), key=lambda one: recording.series("horizon", "age", one).max(), default="")
    if not holder or recording.series("horizon", "age", holder).max() < _TRANSACTIONS_MIN:
        return None
    age = recording.series("horizon", "age", holder)
    since = recording.series("horizon", "since_s", holder)
    held_s = since.max() if since.max() > 0 else recording.duration_s
    end_s = age.peak_s()
    start_s = max(0.0, end_s - held_s)
    piled = dead.between(start_s - 6.0, end_s + 6.0)
    changed = recording.series("database", "rows_written").between(start_s, end_s).total()
    if held_s < _SHORT_S or piled.rise() <= 0 or piled.rise() < _KEPT * 0.2 * changed:
        return None
    fallen = _fallen(recording, start_s, end_s)
    who = [text for t_s, text in recording.texts("horizon", "who", holder) if t_s <= end_s + 1]
    severe = held_s >= _LONG_S or fallen <= _FALLEN
    says = f"A snapshot held for {seconds_text(held_s)} ({holder}: {who[-1] if who else 'not known'}) kept "
    return Finding(
        says=says + f"{piled.rise():.0f} dead rows from being cleaned while {age.max():.0f} transactions passed.",
        why=f"Throughput at its end was {fallen:.0%} of what it was before."
        if fallen <= _FALLEN
        else "Every statement reads past the dead versions.",
        severity=Severity.WARNING if severe else Severity.ADVICE,
        evidence={
            "held_s": round(held_s, 1),
            "transactions_passed": round(age.max()),
            "dead_rows_grown": round(piled.rise()),
            "rows_changed": round(changed),
            "throughput_left": round(fallen, 2),
        },
        remedy="End the holder; do not leave transactions open.",
        fixes=tuple(_fixes(recording, who[-1] if who else "")),
        risk="The ended transaction is rolled back.",
        verify="horizon.age falls, and dead rows with it after the next cleaning.",
        confidence=0.9 if fallen <= _FALLEN or held_s >= _LONG_S else 0.7,
        ruled_out=("cleaning that is merely slow: nothing that died after the snapshot may be cleaned at all",),
        start_s=start_s,
        end_s=end_s,
        series=(f"horizon.age/{holder}", "tables.dead_rows", "throughput"),
    )


def _fixes(recording: Recording, who: str) -> Iterator[Fix]:
    pid = who.removeprefix("process ").partition(",")[0]
    if pid.isdigit():
        live = f"SELECT pg_terminate_backend({pid});"
        yield Fix(kind="statement", name="pg_terminate_backend", value=pid, live=live, needs=Needs.PERSON)
    if "idle in" in who:
        yield setting(recording.facts, "idle_in_transaction_session_timeout", 60_000)


def _fallen(recording: Recording, start_s: float, end_s: float) -> float:
    """Throughput in the last quarter of the time that the snapshot was held over that of its first quarter; 1 when not
    known."""
    quarter = (end_s - start_s) / 4
    first = recording.throughput.between(start_s, start_s + quarter)
    last = recording.throughput.between(end_s - quarter, end_s)
    if not len(first) or not len(last) or first.median() <= 0:
        return 1.0
    return last.median() / first.median()


def _example(*, held: bool) -> Example:
    """A session holds its snapshot from 20 s on, or takes a new one every second."""
    example = Example(stall=None)
    example.curve("horizon.age/session", lambda t: (1000 * (t - 20)).clip(0) if held else t * 0 + 5)
    example.curve("horizon.since_s/session", lambda t: (t - 20).clip(0) if held else t * 0 + 0.5, unit="s")
    example.words("horizon.who/session", "process 4711, idle in transaction")
    example.curve("tables.dead_rows", lambda t: 900 * t if held else 900 * (t % 20), role="dead_rows")
    example.level("database.rows_written", 1000)
    example.fact("setting.idle_in_transaction_session_timeout", 0, unit="ms")
    return example


DIAGNOSIS = Diagnosis(
    id="old-snapshot",
    title="An old transaction keeps dead rows from being cleaned",
    check=check,
    source="PostgreSQL 15 manual, 25.1.2 Recovering Disk Space (2022)",
    bad=lambda: _example(held=True),
    good=lambda: _example(held=False),
)
