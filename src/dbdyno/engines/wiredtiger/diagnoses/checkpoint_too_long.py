"""checkpoint-too-long: a checkpoint takes longer than a minute

What is seen: the last checkpoint took 60 s or more; checkpoints follow each other without a pause.

Why it happens: the next one is due 60 s after the last. One that lasts longer means that more is changed than the disk
takes, and that the journal grows meanwhile.

Remedy: look at the disk's write latency; spread the writes, drop indexes that nobody uses, or give it more operations a
second. Thousands of collections and indexes make checkpoints long too: fewer of them.

Cost: recovery after a crash has a longer journal to read.

Rivals: short checkpoints that still disturb (checkpoint-dips); a reader that pins history.

References: "WiredTiger Logging and Checkpoint Mechanism" (Percona, 2023): every 60 s; it may lag when the disk is
saturated.
"""

from __future__ import annotations

from dbdyno.engines.wiredtiger.diagnoses._status import DUE_S, judged_elsewhere, look, made, names, severity, within
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.finding import Finding
from dbdyno.model.recording import Recording, Stall


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    last_s = within(recording, "checkpoint_last_s", stall).max()
    pinned_s = within(recording, "reader_pinned_s", stall).max()
    if judged_elsewhere(recording, stall) or last_s < DUE_S:
        return None
    return Finding(
        says=f"A checkpoint took {last_s:.0f} s; the next one is due after {DUE_S:.0f} s.",
        why="More is changed than the disk takes.",
        severity=severity(recording, stall),
        evidence={"checkpoint_s": round(last_s, 1)},
        remedy="Look at the disk's write latency; spread the writes or give it more operations a second.",
        fixes=(look("checkpoints", "db.serverStatus().wiredTiger.transaction // .checkpoint since 8.0"),),
        risk="none by looking",
        verify="Checkpoints are done within their minute.",
        confidence=0.7,
        ruled_out=(f"an old reader: the oldest read timestamp was {pinned_s:.0f} s back",),
        series=names("checkpoint_last_s", "reader_pinned_s"),
    )


DIAGNOSIS = Diagnosis(
    id="checkpoint-too-long",
    title="A checkpoint takes longer than a minute",
    check=check,
    source="WiredTiger Logging and Checkpoint Mechanism (Percona, 2023)",
    bad=lambda: made(checkpoint_last_s=95, checkpoint_running=1),
    good=lambda: made(checkpoint_running=1),
)
