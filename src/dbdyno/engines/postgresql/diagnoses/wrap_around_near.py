"""wrap-around-near: transaction numbers run out before rows are frozen

What is seen: the oldest transaction number that is still in a table is far older than autovacuum_freeze_max_age.

Why it happens: freezing does not come through: an old snapshot, a prepared transaction or a slot holds it up,
autovacuum is starved, or a table cannot be cleaned. Three million transactions before the end of the numbers the
server refuses all writes.

Remedy: end what holds the horizon, then VACUUM (FREEZE) the oldest tables of the oldest database; more autovacuum.

Cost: freezing reads whole tables and writes log.

Rivals: an age below the limit at which autovacuum freezes by itself: that is as it should be.

References: PostgreSQL 15 manual, 25.1.5 "Preventing Transaction ID Wraparound Failures" (2022).
"""

from __future__ import annotations

from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Fix, Needs, Severity
from dbdyno.model.recording import Recording, Stall
from dbdyno.model.units import seconds_text

_END = 2**31 - 3_000_000
"""Writes are refused from here on (manual, 25.1.5)."""
_FAILSAFE = 1_600_000_000
"""vacuum_failsafe_age: from here on the server drops all other concerns."""
_BEYOND = 2.0
"""Times autovacuum_freeze_max_age: freezing should have come long ago."""


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is not None:
        return None
    transactions = recording.series("freezing", "age")
    groups = recording.series("freezing", "multixact_age").last()
    age = transactions.last()
    limit = recording.facts.number("setting.autovacuum_freeze_max_age")
    groups_limit = recording.facts.number("setting.autovacuum_multixact_freeze_max_age")
    if age < min(_BEYOND * limit, _FAILSAFE) and groups < min(_BEYOND * groups_limit, _FAILSAFE):
        return None
    names = [name for _, name in recording.texts("freezing", "database")]
    span_s = float(transactions.t_s[-1] - transactions.t_s[0])
    per_s = transactions.rise() / span_s if span_s > 0 else 0.0
    left_s = (_END - age) / per_s if per_s > 0 else None
    when = f"; at {per_s:.0f} a second writes stop in {seconds_text(left_s)}" if left_s else ""
    database = names[-1] if names else "not known"
    return Finding(
        says=f"The oldest unfrozen transaction is {age:,.0f} transactions old (database {database}){when}.",
        why=f"autovacuum_freeze_max_age is {limit:,.0f}: freezing has not come through.",
        severity=Severity.CRITICAL if max(age, groups) >= _FAILSAFE else Severity.WARNING,
        evidence={
            "age": round(age),
            "multixact_age": round(groups),
            "left": round(_END - age),
            "left_s": None if left_s is None else round(left_s),
        },
        remedy="End what holds the horizon (old transactions, slots, prepared ones), then freeze the oldest tables.",
        fixes=(
            Fix(
                kind="statement",
                name="VACUUM (FREEZE)",
                live=f"vacuumdb --freeze --jobs=2 --dbname={database}",
                needs=Needs.PERSON,
            ),
        ),
        risk="Freezing reads whole tables and writes log.",
        verify="freezing.age falls below autovacuum_freeze_max_age.",
        confidence=1.0,
        ruled_out=("the usual age before autovacuum freezes: it is twice that limit or more",),
        start_s=0.0,
        end_s=recording.duration_s,
        series=("freezing.age", "freezing.multixact_age"),
    )


def _example(*, near: bool) -> Example:
    """1.9 billion transactions old, or 150 million."""
    example = Example(stall=None)
    example.curve("freezing.age", lambda t: (1.9e9 if near else 1.5e8) + 500 * t)
    example.level("freezing.multixact_age", 1e6)
    example.words("freezing.database", "shop")
    example.fact("setting.autovacuum_freeze_max_age", 200_000_000)
    example.fact("setting.autovacuum_multixact_freeze_max_age", 400_000_000)
    return example


DIAGNOSIS = Diagnosis(
    id="wrap-around-near",
    title="Transaction numbers run out before rows are frozen",
    check=check,
    source="PostgreSQL 15 manual, 25.1.5 Preventing Transaction ID Wraparound Failures (2022)",
    bad=lambda: _example(near=True),
    good=lambda: _example(near=False),
)
