"""connections-anew: connections come and go, or come all at once

What is seen: ten connections or more are made each second, their number doubles within a stall, or nearly none is left.

Why it happens: each costs a thread, a TLS handshake and a proof of the password: SCRAM-SHA-256 alone takes milliseconds
of processor. Clients without a pool, or pools that answer slowness with more connections, make a slow server slower.

Remedy: one MongoClient for a client's whole life, with maxPoolSize and maxConnecting; a limit on the server.

Cost: with a small pool clients queue at home instead of at the server.

Rivals: the same connections that merely become busy: their number does not change.

References: MongoDB manual, "Connection Pool Overview" (2024). Ten a second are those of the rule on the same counter.
"""

from __future__ import annotations

from dbdyno.engines.wiredtiger.diagnoses._status import judged_elsewhere, look, made, names, severity, usual, within
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.finding import Finding
from dbdyno.model.recording import Recording, Stall

_PER_S = 10.0
_JUMP = 2.0
_JUMP_MIN = 100.0
_FREE_MIN = 0.05


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    made_per_s = within(recording, "connections_made", stall).mean()
    most = within(recording, "connections", stall).max()
    before = usual(recording, "connections", stall).median()
    free = within(recording, "connections_free", stall).min()
    jump = most > _JUMP * before and most - before > _JUMP_MIN
    scarce = free < _FREE_MIN * (free + most)
    if judged_elsewhere(recording, stall) or not (made_per_s >= _PER_S or jump or scarce):
        return None
    return Finding(
        says=f"{made_per_s:.1f} connections a second were made; there were up to {most:.0f} (usually {before:.0f}), "
        f"and {free:.0f} were left.",
        why="Each costs a thread, a TLS handshake and a proof of the password.",
        severity=severity(recording, stall),
        evidence={
            "made_per_s": round(made_per_s, 1),
            "connections": round(most),
            "connections_usual": round(before),
            "connections_free": round(free),
        },
        remedy="One client object for a process's whole life, with a pool of bounded size.",
        fixes=(look("who connects", "db.currentOp(true).inprog.map(one => one.client)"),),
        risk="With a small pool clients queue at home.",
        verify="connections.totalCreated nearly stands.",
        confidence=0.8 if made_per_s >= _PER_S and jump else 0.6,
        ruled_out=("the same connections becoming busy: new ones were made",),
        series=names("connections_made", "connections", "connections_free"),
    )


DIAGNOSIS = Diagnosis(
    id="connections-anew",
    title="Connections come and go, or come all at once",
    check=check,
    source="MongoDB manual, Connection Pool Overview (2024)",
    bad=lambda: made(connections=900, connections_made=80),
    good=lambda: made(active=95, queued=60),
)
