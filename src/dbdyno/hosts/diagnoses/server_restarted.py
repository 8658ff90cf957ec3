"""server-restarted: the server was started again

What is seen: throughput falls to nothing; the server does not answer for a while and then says that it was started
later than before.

Why it happens: an operator, a package upgrade, a crash, or the kernel killing it for want of memory. After the start
it recovers, and its cache is cold.

Remedy: find who did it: the server's log, the service manager's log, the kernel's log.

Cost: none.

Rivals: a server that was merely not reachable (its start did not change).

References: systemd.exec(5) and the kernel's Documentation/admin-guide/mm/concepts.rst, on the OOM killer (2018–2024).
"""

from __future__ import annotations

from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.facts import MissingFact
from dbdyno.model.finding import Finding, Fix, Needs, Severity
from dbdyno.model.recording import Recording, Stall
from dbdyno.model.units import seconds_text

_AROUND_S = 30.0
_JUMP_S = 1.0


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    started = recording.role("server_started")
    seen = started if stall is None else started.between(stall.start_s - _AROUND_S, stall.end_s + _AROUND_S)
    if seen.max() - seen.min() < _JUMP_S:
        return None
    restarts = [event.t_s for event in recording.events if event.kind == "restart"]
    at_s = min(restarts, key=lambda t_s: abs(t_s - (stall.start_s if stall else 0.0)), default=seen.peak_s())
    if stall is not None and at_s > stall.end_s + _AROUND_S:
        return None
    killed = _killed(recording, at_s)
    lasted = f"; clients got nothing for {seconds_text(stall.seconds)}" if stall else ""
    return Finding(
        says=f"The server was started again at about {at_s:.0f} s{lasted}.",
        why="The kernel killed a program for want of memory just before." if killed else "",
        severity=Severity.CRITICAL,
        evidence={"at_s": round(at_s, 1), "killed_for_memory": round(killed)},
        remedy="Find who did it: the server's log and the service manager's.",
        fixes=(Fix(kind="manual", name="restart", needs=Needs.PERSON),),
        verify="server_started does not move.",
        confidence=0.95,
        ruled_out=("a server that was merely not reachable: it says that it was started later than before",),
        start_s=stall.start_s if stall else at_s,
        end_s=stall.end_s if stall else at_s,
        series=(started.name,),
    )


def _killed(recording: Recording, at_s: float) -> float:
    try:
        return recording.series("vmstat", "out_of_memory_kills").between(at_s - _AROUND_S, at_s + _AROUND_S).total()
    except MissingFact:
        return 0.0


def _example(*, restarted: bool) -> Example:
    """At 68 s the server says that it was started just now, or still long ago."""
    example = Example(lowest_per_s=0)
    example.curve(
        "database.server_started", lambda t: 1.7e9 + (9e5 if restarted else 0.0) * (t > 68), role="server_started"
    )
    if restarted:
        example.event(68.0, "restart")
    return example


DIAGNOSIS = Diagnosis(
    id="server-restarted",
    title="The server was started again",
    check=check,
    source="systemd.exec(5) and the kernel's documentation (2024)",
    bad=lambda: _example(restarted=True),
    good=lambda: _example(restarted=False),
)
