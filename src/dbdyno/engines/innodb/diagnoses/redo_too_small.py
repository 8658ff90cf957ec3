"""redo-too-small: the log is too small for the rate of changes

What is seen: at the rate at which the log is written, the age that it allows is reached within a minute or two, and
the age does reach the upper part of its limit. Pages are then written long before they could gather more changes.

Why it happens: the log bounds how long a changed page may stay in memory. The smaller the log, the fewer changes
share one page write.

Remedy: a larger log: at least some ten minutes of the usual rate, an hour where recovery time allows it.

Cost: recovery after a crash reads more log (it grows with the age).

Rivals: a flusher that is held back though the log is large (io_capacity too low).

References: "The relationship between Innodb Log checkpointing and dirty Buffer pool pages" (undated, of MySQL 5.5,
about 2011); "InnoDB Performance Optimization Basics" (Percona, 2023): larger logs, slower recovery.
"""

from __future__ import annotations

from dbdyno.engines.innodb.diagnoses._server import age_share, judged_elsewhere, log_capacity, names
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Stall
from dbdyno.model.units import bytes_text, seconds_text

_FULL_S = 120.0
_FULL_AT_ONCE_S = 15.0
_CERTAIN = 0.96
"""Surer than that the age came to its limit, which is how it shows."""
_HIGH = 0.7
_AIM_S = 600.0


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if judged_elsewhere(recording, stall):
        return None
    share = age_share(recording, stall)
    limit = recording.role("checkpoint_age_limit_bytes").median()
    # The mean: who stands at the limit most of the time writes nothing in most seconds.
    written = recording.role("wal_bytes").outside(recording.stalls).mean()
    full_s = limit / written if written > 0 else float("inf")
    if share < _HIGH or full_s > _FULL_S:
        return None
    wanted = written * _AIM_S / 0.8
    return Finding(
        says=f"{bytes_text(written)} of log a second fill the {bytes_text(limit)} that may wait "
        f"in {seconds_text(full_s)}; the age came to {share:.0%} of that.",
        why="Changed pages are written long before they could gather more changes.",
        severity=Severity.WARNING if stall is not None else Severity.ADVICE,
        evidence={
            "log_bytes_per_s": round(written),
            "checkpoint_age_limit_bytes": round(limit),
            "seconds_to_fill": round(full_s, 1),
            "age_share": round(share, 3),
        },
        remedy=f"A log for {seconds_text(_AIM_S)} of this rate: {bytes_text(wanted)}, as far as recovery time allows.",
        fixes=(log_capacity(recording.facts, wanted),),
        risk="Recovery after a crash takes longer with the age; measure it.",
        durability=Level.L3,
        verify="Pages written for each transaction fall, and the age stays below its limit.",
        confidence=_CERTAIN if full_s < _FULL_AT_ONCE_S else 0.9 - 0.3 * full_s / _FULL_S,
        ruled_out=("a flusher that is held back: even an idle one had only that time",),
        series=names(recording, "checkpoint_distance_bytes", "checkpoint_age_limit_bytes", "wal_bytes"),
    )


def _example(*, small: bool) -> Example:
    """4 MB of log a second; 80 MB may wait, or 8 GB."""
    limit = 80e6 if small else 8e9
    example = Example()
    example.level("innodb.innodb_checkpoint_age", 78e6, unit="B", role="checkpoint_distance_bytes")
    example.level("innodb.innodb_checkpoint_max_age", limit, unit="B", role="checkpoint_age_limit_bytes")
    example.level("innodb.innodb_os_log_written", 4e6, during=1e5, unit="B/s", role="wal_bytes")
    example.fact("setting.innodb_log_file_size", round(limit / 0.8))
    return example


DIAGNOSIS = Diagnosis(
    id="redo-too-small",
    title="The log is too small for the rate of changes",
    check=check,
    source="The relationship between Innodb Log checkpointing and dirty Buffer pool pages (undated, about 2011)",
    bad=lambda: _example(small=True),
    good=lambda: _example(small=False),
)
