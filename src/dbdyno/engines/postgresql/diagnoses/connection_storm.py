"""connection-storm: clients connect anew all the time, or all at once

What is seen: connections are made at many times the usual rate, or their number jumps; processor time in the kernel
rises; near max_connections clients are refused.

Why it happens: every connection is a process of its own, whose start costs milliseconds of processor time. An
application without a pool, or one that answers slowness with more connections, makes a slow server slower.

Remedy: a pool (in the application, or pgbouncer) with a few connections a core; limits per role.

Cost: a pool in transaction mode does not keep session state.

Rivals: the same connections that merely all become busy (their number does not change).

References: PostgreSQL 15 manual, 20.3.1 "Connection Settings" (2022).
"""

from __future__ import annotations

from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Fix, Needs
from dbdyno.model.recording import Recording, Stall

_FACTOR = 5.0
_PER_CORE_S = 20.0
"""New connections per core and second that cost a tenth of it or more (5 ms each)."""
_JUMP = 2.0
_JUMP_MIN = 20.0
_FULL = 0.95


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is None:
        return None
    opened = recording.role("sessions_opened")
    count = recording.role("connections")
    cores = recording.facts.number("host.cores")
    limit = recording.facts.number("setting.max_connections")
    rate, usual = opened.during(stall, slack_s=2.0).max(), opened.outside(recording.stalls).median()
    most, before = count.during(stall).max(), count.before(stall).median()
    storm = rate > max(_FACTOR * usual, _PER_CORE_S * cores)
    jump = most > _JUMP * before and most - before > _JUMP_MIN
    full = most >= _FULL * limit
    if not (storm or jump or full):
        return None
    return Finding(
        says=f"Up to {rate:.0f} connections a second were made (usually {usual:.0f}); "
        f"there were {most:.0f} of at most {limit:.0f} (before: {before:.0f}).",
        why="Every connection is a process; starting one costs milliseconds of processor time.",
        evidence={
            "opened_per_s": round(rate),
            "opened_per_s_usual": round(usual),
            "connections": round(most),
            "connections_before": round(before),
            "max_connections": round(limit),
        },
        remedy="A pool with a few connections a core in front of the server.",
        fixes=(Fix(kind="manual", name="connection pool", value=f"{4 * int(cores)} connections", needs=Needs.PERSON),),
        risk="A pool in transaction mode does not keep session state.",
        verify="sessions.opened stays near 0.",
        confidence=0.8 if storm else 0.6,
        ruled_out=("the same connections becoming busy: their number changed",),
        series=("sessions.opened", "connections.count"),
    )


def _example(*, storm: bool) -> Example:
    """In the stall 300 connections a second are made, or the twenty old ones become busy."""
    example = Example(lowest_per_s=200)
    example.level("sessions.opened", 0.1, during=300 if storm else 0.1, role="sessions_opened")
    example.level("connections.count/active", 5, during=90 if storm else 20, role="connections")
    example.level("connections.count/idle", 15, during=0)
    example.fact("setting.max_connections", 100)
    example.fact("host.cores", 4)
    return example


DIAGNOSIS = Diagnosis(
    id="connection-storm",
    title="Clients connect anew all the time, or all at once",
    check=check,
    source="PostgreSQL 15 manual, 20.3.1 Connection Settings (2022)",
    bad=lambda: _example(storm=True),
    good=lambda: _example(storm=False),
)
