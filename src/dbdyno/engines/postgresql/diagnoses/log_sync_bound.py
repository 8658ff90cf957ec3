"""log-sync-bound: commits wait for the log to reach the disk

What is seen: most of the clients' time goes into writing and syncing the log (wait events `WALSync`, `WALWrite` and the
lock of that name). In a stall it is because a sync that takes a millisecond usually took far longer.

Why it happens: a commit is acknowledged when its log is on disk. One process syncs for all that wait, so that the
disk's sync latency bounds every transaction.

Remedy: a disk with a protected write cache, or a disk of its own for the log; with many clients commit_delay lets more
commits share one sync. Do not take synchronous_commit = off for a cure: it loses what was acknowledged.

Cost: commit_delay adds its time to every commit.

Rivals: a checkpoint that keeps the disk busy, or whole pages that flood the log after one (then that is the cause, and
this its path); a replica that is waited for.

References: PostgreSQL 15 manual, 30.5 "WAL Configuration" (2022).
"""

from __future__ import annotations

from dbdyno.engines.postgresql.diagnoses._pages import flooded_by_pages
from dbdyno.engines.postgresql.diagnoses._settings import setting
from dbdyno.engines.postgresql.diagnoses._waits import LOG_SYNC, REPLICA, clients, head_share, series_of, share
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Fix, Severity
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Stall

_SHARE = 0.5
_WAITING_MIN = 2.0
"""One client that always waits for its own commit is as it must be."""
_CLIENTS_FOR_DELAY = 4.0
"""So many must wait for the log before a delay can gather any."""
_DELAY_US, _DELAY_US_MAX = 500, 5000


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    log, replica = head_share(recording, stall, *LOG_SYNC), share(recording, stall, *REPLICA)
    waiting = clients(recording, stall, *LOG_SYNC)
    if log < _SHARE or waiting < (1.0 if stall else _WAITING_MIN) or replica > log:
        return None
    busy = [
        event
        for event in recording.events
        if stall and event.kind == "checkpoint" and event.t_s <= stall.end_s and (event.end_s or 0) >= stall.start_s
    ]
    fixes = _shared_syncs(recording, waiting)
    return Finding(
        says=f"{log:.0%} of the time of the clients that did not queue behind others went into waiting for the log to "
        f"reach the disk ({waiting:.1f} clients).",
        why="A commit is acknowledged when its log is on disk.",
        severity=Severity.ADVICE if stall is None else Severity.WARNING,
        evidence={"log_sync_share": round(log, 2), "waiting_clients": round(waiting, 1)},
        remedy="A disk with quick syncs for the log; with many clients let commits share syncs.",
        fixes=fixes,
        durability=Level.L3,
        risk="commit_delay adds its time to a commit." if fixes else "Another disk.",
        verify="The share of waits for WALSync and WALWrite falls.",
        confidence=0.5 if busy or flooded_by_pages(recording, stall) else 0.65,
        ruled_out=(f"a replica that is waited for: {replica:.0%} of the clients' time",),
        series=series_of(recording, *LOG_SYNC),
    )


def _shared_syncs(recording: Recording, waiting: float) -> tuple[Fix, ...]:
    """A delay before the log is forced, twice as long where there is one, for as many others as are there; none with
    few clients."""
    if waiting < _CLIENTS_FOR_DELAY:
        return ()
    facts = recording.facts
    now_us = facts.number("setting.commit_delay")
    delay_us = min(_DELAY_US_MAX, 2 * round(now_us)) if now_us > 0 else _DELAY_US
    if delay_us <= now_us:
        return ()
    others = max(1, round(waiting / 2))
    fewer = facts.has("setting.commit_siblings") and others < facts.number("setting.commit_siblings")
    return (
        setting(facts, "commit_delay", delay_us),
        *((setting(facts, "commit_siblings", others),) if fewer else ()),
    )


def _example(*, bound: bool) -> Example:
    """Sixteen clients wait for the log in the stall, or for data pages."""
    example = Example()
    example.level("waits.count/CPU/running", 4, during=1, role="waiting")
    example.level("waits.count/IO/WALSync", 0.3, during=1 if bound else 0)
    example.level("waits.count/LWLock/WALWrite", 0.3, during=14 if bound else 0)
    example.level("waits.count/IO/DataFileRead", 0.3, during=0 if bound else 14)
    example.fact("setting.commit_delay", 0)
    return example


DIAGNOSIS = Diagnosis(
    id="log-sync-bound",
    title="Commits wait for the log to reach the disk",
    check=check,
    source="PostgreSQL 15 manual, 30.5 WAL Configuration (2022)",
    bad=lambda: _example(bound=True),
    good=lambda: _example(bound=False),
)
