"""slow-start: the server was away for long because much of its log had to be worked off

What is seen: the server stops answering with a long log since its last checkpoint, the disk is at work while it is
away, and it says afterwards that it was started again.

Why it happens: after a crash everything since the last checkpoint is done once more before clients are let in; at an
orderly stop the pages that are not written yet are written first. Both take as long as the distance to the last
checkpoint is large.

Remedy: a checkpoint by hand just before an orderly restart; checkpoints closer to each other when even a crash may
cost only so many seconds.

Cost: more checkpoints write the same pages more often, and more whole pages to the log where the server logs those.

Rivals: nobody started it (then the disk rests while it is away); a server that was merely not reachable (then it does
not say that it was started); a cold cache (then it answers, but slowly).

References: an article on ten hours of sysbench-tpcc (Percona, 2018): a checkpoint of one to two minutes, and a restart
of four seconds after it.
"""

from __future__ import annotations

from dbdyno.hosts.diagnoses._disk import busy, data_device
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Fix, Needs
from dbdyno.model.recording import Recording, Stall
from dbdyno.model.units import bytes_text, seconds_text

_AROUND_S = 30.0
_AWAY_S_MIN = 10.0
"""The article's restart after a checkpoint took four seconds: what takes that long needs no explanation."""
_LOG_BYTES_MIN = 64 << 20
_BUSY = 0.3
"""Share of the time in which the disk worked while the server was away: recovery reads one page after the other, and
waits for the processor between them."""
_FACTOR_KEPT = 0.25


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    started = recording.role("server_started")
    distance = recording.role("checkpoint_distance_bytes")
    device = data_device(recording)
    used = busy(recording, device)
    away = _away(recording, stall)
    if stall is None or away is None:
        return None
    start_s, end_s = away
    seconds = end_s - start_s
    log_bytes = distance.between(start_s - _AROUND_S, start_s).last()
    worked = used.between(start_s, end_s).mean()
    if seconds < _AWAY_S_MIN or log_bytes < _LOG_BYTES_MIN or worked < _BUSY:
        return None
    rate = log_bytes / seconds
    return Finding(
        says=f"The server was away for {seconds_text(seconds)} from {start_s:.0f} s on, with {bytes_text(log_bytes)} "
        f"of log since its last checkpoint; {device} was busy {worked:.0%} of that time.",
        why=f"It worked off {bytes_text(rate)} of log a second before it let clients in, or before it stopped.",
        evidence={
            "away_s": round(seconds, 1),
            "log_bytes": round(log_bytes),
            "log_bytes_per_s": round(rate),
            "disk_busy_share": round(worked, 2),
            "predicted_s": round(_FACTOR_KEPT * seconds, 1),
        },
        remedy="A checkpoint by hand before a restart; checkpoints closer to each other if a crash may not cost that "
        f"long. A quarter of the log would have taken about {seconds_text(_FACTOR_KEPT * seconds)}.",
        fixes=(Fix(kind="manual", name="checkpoint before a restart", needs=Needs.PERSON),),
        risk="Checkpoints closer to each other write more.",
        verify="The next restart with a quarter of that log takes about a quarter of the time.",
        confidence=0.7,
        ruled_out=(
            f"nobody started it: the disk was busy {worked:.0%} of the time",
            "a server that was merely not reachable: it says that it was started later than before",
        ),
        series=(distance.name, started.name, f"disk.busy_ms/{device}"),
    )


def _away(recording: Recording, stall: Stall | None) -> tuple[float, float] | None:
    """From the last answer to the first one of the server that was started again, in or near the stall."""
    if stall is None:
        return None
    near = (stall.start_s - _AROUND_S, stall.end_s + _AROUND_S)
    restarts = [one.t_s for one in recording.events if one.kind == "restart" and near[0] <= one.t_s <= near[1]]
    silences = [
        (one.t_s, one.end_s)
        for one in recording.events
        if one.kind == "unreachable"
        and one.end_s is not None
        and any(one.t_s <= at <= one.end_s + 2 for at in restarts)
    ]
    return max(silences, key=lambda one: one[1] - one[0], default=None)


def _example(*, recovering: bool) -> Example:
    """Away from 60 to 98 s with 800 MB of log; the disk works all the time, or rests."""
    example = Example(stall=(60, 100), lowest_per_s=0)
    example.event(60.0, "unreachable", end_s=98.0)
    example.event(98.0, "restart")
    example.curve("database.server_started", lambda t: 1.7e9 + 9e5 * (t > 98), role="server_started")
    example.level("checkpoints.distance_bytes", 8e8, during=0, unit="B", role="checkpoint_distance_bytes")
    example.level("disk.busy_ms/vda", 400, during=950 if recovering else 10, unit="ms/s", role="disk_busy_ms")
    return example


DIAGNOSIS = Diagnosis(
    id="slow-start",
    title="Much of the log had to be worked off before the server came back",
    check=check,
    source="An article on ten hours of sysbench-tpcc (Percona, 2018)",
    bad=lambda: _example(recovering=True),
    good=lambda: _example(recovering=False),
)
