"""replica-wait: commits wait for a replica

What is seen: most busy clients wait in `SyncRep`: their commit is on this server's disk and not yet on the replica's.

Why it happens: synchronous_standby_names makes a commit wait until a named replica has confirmed it. A replica that is
slow, or gone, holds up every commit.

Remedy: mend the replica or its network, or name more candidates than are needed: ANY 1 (a, b).

Cost: with more candidates any one of them may be the one that has the last commits.

Rivals: this server's own disk (waits for the log).

References: PostgreSQL 15 manual, 27.2.8 "Synchronous Replication" (2022).
"""

from __future__ import annotations

from dbdyno.engines.postgresql.diagnoses._waits import LOG_SYNC, REPLICA, clients, head_share, series_of, share
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Fix, Needs, Severity
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Stall

_SHARE = 0.5


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    replica, log = head_share(recording, stall, *REPLICA), share(recording, stall, *LOG_SYNC)
    if replica < _SHARE:
        return None
    names = recording.facts.text("setting.synchronous_standby_names")
    return Finding(
        says=f"{replica:.0%} of the time of the clients that did not queue behind others went into waiting for a "
        "replica's confirmation.",
        why=f"synchronous_standby_names is {names!r}.",
        severity=Severity.ADVICE if stall is None else Severity.WARNING,
        evidence={"replica_share": round(replica, 2), "waiting_clients": round(clients(recording, stall, *REPLICA), 1)},
        remedy="Mend the replica or its network, or name more candidates than are needed.",
        fixes=(Fix(kind="setting", name="synchronous_standby_names", value="ANY 1 (…)", needs=Needs.PERSON),),
        durability=Level.L3,
        risk="Any of the named replicas may be the one that has the last commits.",
        verify="No client waits in SyncRep for long.",
        confidence=0.9,
        ruled_out=(f"this server's own disk: {log:.0%} of the clients' time",),
        series=series_of(recording, *REPLICA),
    )


def _example(*, waits: bool) -> Example:
    """Eight clients wait for a replica in the stall, or for the own log."""
    example = Example()
    example.level("waits.count/CPU/running", 4, during=0, role="waiting")
    example.level("waits.count/IPC/SyncRep", 0.3, during=8 if waits else 0)
    example.level("waits.count/IO/WALSync", 0.3, during=0 if waits else 8)
    example.fact("setting.synchronous_standby_names", "replica1")
    return example


DIAGNOSIS = Diagnosis(
    id="replica-wait",
    title="Commits wait for a replica",
    check=check,
    source="PostgreSQL 15 manual, 27.2.8 Synchronous Replication (2022)",
    bad=lambda: _example(waits=True),
    good=lambda: _example(waits=False),
)
