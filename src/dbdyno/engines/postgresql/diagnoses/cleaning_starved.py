"""cleaning-starved: autovacuum does not come round

What is seen: tables have more dead rows than autovacuum waits for, and have had them for minutes; autovacuum is off, or
all its workers are at work the whole time.

Why it happens: too few workers, or workers that sleep most of their time by the cost limit, for the changes that come
in; a few huge tables keep all of them busy.

Remedy: let workers do more (autovacuum_vacuum_cost_limit, autovacuum_vacuum_cost_delay), then more of them
(autovacuum_max_workers; they share one cost limit); never leave autovacuum off.

Cost: cleaning reads and writes more per second.

Rivals: a snapshot that keeps dead rows from being cleaned: more workers would not help.

References: "Tuning PostgreSQL for sysbench-tpcc" (Percona, 2018); PostgreSQL 15 manual, 25.1.6 (2022).
"""

from __future__ import annotations

from dbdyno.engines.postgresql.diagnoses._settings import seconds_of, setting
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Value
from dbdyno.model.recording import Recording, Stall
from dbdyno.model.units import seconds_text

_ROUNDS = 5.0
"""A table that is due for longer than this many rounds of the launcher was not come to."""
_BUSY = 0.8
_HORIZON_MAX = 1_000_000.0


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is not None:
        return None
    due = recording.series("cleaning", "due")
    since = recording.series("cleaning", "worst_since_s")
    on = recording.facts.flag("setting.autovacuum")
    workers, most = recording.role("maintenance_workers"), recording.series("autovacuum", "workers_max").max()
    busy = workers.share_above(most - 0.5) >= _BUSY
    round_s = seconds_of(recording.facts, "autovacuum_naptime")
    if due.last() < 1 or (on and not busy) or since.last() < _ROUNDS * round_s:
        return None
    worst = [name for _, name in recording.texts("cleaning", "worst")]
    dead = recording.series("cleaning", "worst_dead_rows").max()
    horizon = recording.series("transactions", "horizon_age").max()
    change: tuple[tuple[str, Value], ...] = (("autovacuum", "on"),)
    if on:
        limit = max(2000, 2 * int(recording.facts.number("setting.autovacuum_vacuum_cost_limit")))
        change = (("autovacuum_vacuum_cost_limit", limit), ("autovacuum_max_workers", round(most) + 3))
    return Finding(
        says=f"{due.last():.0f} tables are due for cleaning; {worst[-1] if worst else 'the worst'} has {dead:.0f} dead "
        f"rows and was last cleaned {seconds_text(since.last())} ago.",
        why="All workers of autovacuum were at work." if on else "autovacuum is off.",
        severity=Severity.WARNING if on else Severity.CRITICAL,
        evidence={
            "tables_due": round(due.last()),
            "dead_rows": round(dead),
            "not_cleaned_s": round(since.last()),
            "workers": round(workers.mean(), 1),
            "workers_max": round(most),
        },
        remedy="Let the workers do more." if on else "Switch autovacuum on.",
        fixes=tuple(setting(recording.facts, name, value) for name, value in change),
        risk="Cleaning reads and writes more per second.",
        verify="cleaning.due falls to 0.",
        confidence=0.9 if horizon < _HORIZON_MAX else 0.5,
        ruled_out=(f"an old snapshot: the oldest is {horizon:.0f} transactions old",),
        start_s=0.0,
        end_s=recording.duration_s,
        series=("cleaning.due", "cleaning.worst_since_s", "autovacuum.workers"),
    )


def _example(*, starved: bool) -> Example:
    """A table is due for twenty minutes with all workers busy, or one of three at work."""
    example = Example(stall=None)
    example.level("cleaning.due", 3)
    example.level("cleaning.worst_dead_rows", 2e6)
    example.level("cleaning.worst_since_s", 1200, unit="s")
    example.words("cleaning.worst", "public.orders")
    example.curve("autovacuum.workers", lambda t: t * 0 + (3 if starved else 1), role="maintenance_workers")
    example.curve("autovacuum.workers_max", lambda t: t * 0 + 3)
    example.level("transactions.horizon_age", 200)
    example.fact("setting.autovacuum", "on")
    example.fact("setting.autovacuum_naptime", 60, unit="s")
    example.fact("setting.autovacuum_vacuum_cost_limit", 200)
    example.fact("setting.autovacuum_max_workers", 3)
    return example


DIAGNOSIS = Diagnosis(
    id="cleaning-starved",
    title="Autovacuum does not come round",
    check=check,
    source="Tuning PostgreSQL for sysbench-tpcc (Percona, 2018)",
    bad=lambda: _example(starved=True),
    good=lambda: _example(starved=False),
)
