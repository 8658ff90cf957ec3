"""checkpoint-forced-by-log: the log limit forces checkpoints, and they stall the clients

What is seen: throughput falls for seconds again and again; each time a checkpoint runs that was not due by the clock.
The log written since the last checkpoint reaches max_wal_size / (1 + checkpoint_completion_target), where the server
begins the next one.

Why it happens: more log is written within checkpoint_timeout than max_wal_size allows. The checkpoint is then in a
hurry: its writes and syncs are not spread, and every page that is changed first after it goes whole into the log,
which brings the next one nearer still.

Remedy: raise max_wal_size so that the clock, not the volume, begins checkpoints.

Cost: as much more log to replay after a crash, and disk space for it. Keep it within the recovery time you can bear.

Rivals: checkpoints by the clock or by a person's command (the log was far from its limit); a slow disk without any
checkpoint.

References: "Tuning PostgreSQL for sysbench-tpcc" (Percona, 2018); PostgreSQL 15 manual, 30.5 "WAL
Configuration" (2022).
"""

from __future__ import annotations

from dbdyno.engines.postgresql.diagnoses._settings import bytes_of, power_of_two, seconds_of, setting
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.recording import Event, Recording, Stall
from dbdyno.model.units import bytes_text, seconds_text

_NEAR = 0.8
"""Share of the trigger from which the log counts as having reached it: samples are a second apart."""
_SLACK_S = 3.0
_WAL_SIZE_MAX_MB = 65_536


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    requested = recording.role("checkpoints_requested").total()
    timed = recording.role("checkpoints_timed").total()
    distance = recording.role("checkpoint_distance_bytes")
    trigger_bytes = bytes_of(recording.facts, "max_wal_size") / (
        1 + recording.facts.number("setting.checkpoint_completion_target")
    )
    if requested < 0.5 and distance.max() < trigger_bytes:
        return None
    running = _running(recording, stall, trigger_bytes) if stall is not None else None
    if stall is not None and running is None:
        return None
    if stall is None and not (requested >= 3 and requested > timed and distance.max() >= _NEAR * trigger_bytes):
        return None
    rate = recording.role("wal_bytes").mean()
    timeout_s = seconds_of(recording.facts, "checkpoint_timeout")
    target = recording.facts.number("setting.checkpoint_completion_target")
    wanted_mb = power_of_two(rate * timeout_s * (1 + target) / (1 << 20))
    size_mb = min(max(wanted_mb, 2 * int(trigger_bytes * (1 + target) / (1 << 20))), _WAL_SIZE_MAX_MB)
    full_s = trigger_bytes / rate if rate > 0 else float("inf")
    says = f"Log volume forced {requested:.0f} checkpoints ({timed:.0f} were due by the clock)"
    if running is not None and stall is not None:
        says += f"; one was under way in the stall of {seconds_text(stall.seconds)}"
    return Finding(
        says=says + ".",
        why=f"At {bytes_text(rate)}/s of log the limit of {bytes_text(trigger_bytes)} is reached in "
        f"{seconds_text(full_s)}, while checkpoint_timeout is {seconds_text(timeout_s)}.",
        severity=Severity.ADVICE if stall is None else Severity.WARNING,
        evidence={
            "checkpoints_requested": round(requested),
            "checkpoints_timed": round(timed),
            "log_bytes_per_s": round(rate),
            "trigger_bytes": round(trigger_bytes),
            "distance_bytes_max": round(distance.max()),
        },
        remedy=f"Raise max_wal_size to {bytes_text(float(size_mb << 20))}.",
        fixes=(setting(recording.facts, "max_wal_size", size_mb),),
        durability=Level.L3,
        risk=f"Up to {bytes_text(float(size_mb << 20))} of disk for the log, and longer recovery after a crash.",
        verify="checkpoints_requested no longer rises; the stalls are gone or come at checkpoint_timeout.",
        confidence=0.9,
        ruled_out=(
            "checkpoints by the clock: checkpoint_timeout had not passed",
            f"a CHECKPOINT command: the log had reached {distance.max() / trigger_bytes:.0%} of its limit",
        ),
        series=("checkpoints.requested", "wal.distance_bytes", "wal.position_bytes"),
    )


def _running(recording: Recording, stall: Stall, trigger_bytes: float) -> Event | None:
    """A checkpoint begun by volume that overlaps the stall; one that the record's end cut off counts."""
    distance = recording.role("checkpoint_distance_bytes")
    for event in recording.events:
        end_s = event.end_s if event.end_s is not None else event.t_s
        if event.kind != "checkpoint" or event.t_s > stall.end_s + _SLACK_S or end_s < stall.start_s - _SLACK_S:
            continue
        if distance.between(event.t_s - 2 * _SLACK_S, end_s).max() >= _NEAR * trigger_bytes:
            return event
    ended = [event.end_s or event.t_s for event in recording.events if event.kind == "checkpoint"]
    open_since_s = max((one for one in ended if one <= stall.start_s), default=0.0)
    inside = distance.between(max(open_since_s, stall.start_s - _SLACK_S), stall.end_s + _SLACK_S)
    if inside.max() >= trigger_bytes:
        return Event(t_s=stall.start_s, kind="checkpoint", says="not finished within the record")
    return None


def _example(*, forced: bool) -> Example:
    """A checkpoint from 58 to 70 s; forced by 1 GiB of log, or asked for at a tenth of it."""
    top = (0.55 if forced else 0.05) * (1 << 30)
    example = Example()
    example.curve("wal.distance_bytes", lambda t: top * ((t - 70) % 70) / 70, role="checkpoint_distance_bytes")
    example.level("wal.position_bytes", 2e7, role="wal_bytes")
    example.curve("checkpoints.requested", lambda t: (t == 70) * 1.0, role="checkpoints_requested")
    example.curve("checkpoints.timed", lambda t: t * 0.0, role="checkpoints_timed")
    example.event(58.0, "checkpoint", end_s=70.0)
    example.fact("setting.max_wal_size", 1024, unit="MB")
    example.fact("setting.checkpoint_timeout", 300, unit="s")
    example.fact("setting.checkpoint_completion_target", 0.9)
    return example


DIAGNOSIS = Diagnosis(
    id="checkpoint-forced-by-log",
    title="The log limit forces checkpoints that stall the clients",
    check=check,
    source="Tuning PostgreSQL for sysbench-tpcc (Percona, 2018)",
    bad=lambda: _example(forced=True),
    good=lambda: _example(forced=False),
)
