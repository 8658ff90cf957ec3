"""io-capacity-too-low: the flusher stands at its own bound while the checkpoint's age grows

What is seen: pages are flushed at about innodb_io_capacity_max (or innodb_io_capacity where that is all there is), not
more, and the checkpoint's age climbs into the upper part of its limit. The device would write more.

Why it happens: the flusher never writes more than it is told that the device can, until the age forces it to.

Remedy: innodb_io_capacity and innodb_io_capacity_max up to what the device writes (in a stall: w/s + wrqm/s of iostat).

Cost: more pages are written a second, and fewer changes share one write.

Rivals: a device at its limit (then a higher bound does not help); a log that is too small.

References: "How To Tune MariaDB Write Performance" (Percona, 2012): the device's rate as io_capacity.
"""

from __future__ import annotations

import numpy as np

from dbdyno.engines.innodb.diagnoses._server import (
    ASYNC_SHARE,
    age_share,
    disk_busy_ms,
    disk_full,
    judged_elsewhere,
    names,
    number,
    setting,
)
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.facts import MissingFact
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Stall

_HIGH = 0.7
_IDLE_MS_PER_S = 600.0
"""A disk that is busy for less than that would have written more: it was the bound and nothing else."""
_CLIMB = 0.5
_CLIMB_MIN = 3
_LOW_SHARE, _HIGH_SHARE = 0.6, 1.5


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if judged_elsewhere(recording, stall):
        return None
    share = age_share(recording, stall)
    base = recording.facts.number("setting.innodb_io_capacity")
    most = max(base, number(recording.facts, "innodb_io_capacity_max", base))
    if share < _HIGH:
        return None
    flushed = _while_it_climbs(recording)
    if flushed is None or disk_full(recording, stall):
        return None
    if not any(_LOW_SHARE * bound <= flushed <= _HIGH_SHARE * bound for bound in (base, most)):
        return None
    try:
        busy = disk_busy_ms(recording, stall)
    except MissingFact:
        busy = None
    wanted = round(max(2 * most, 2000))
    return Finding(
        says=f"{flushed:.0f} pages a second were flushed, about the {base:.0f} to {most:.0f} that innodb_io_capacity "
        f"allows, and the checkpoint's age came to {share:.0%} of its limit.",
        why="The flusher does not write more than it is told that the device can."
        + ("" if busy is None else f" The device was busy {busy / 10:.0f} % of the time."),
        severity=Severity.WARNING if stall is not None else Severity.ADVICE,
        evidence={
            "flushed_per_s": round(flushed),
            "io_capacity": base,
            "io_capacity_max": most,
            "age_share": round(share, 3),
            "disk_busy_ms_per_s": None if busy is None else round(busy),
        },
        remedy="Let the flusher write what the device can.",
        fixes=(
            setting(recording.facts, "innodb_io_capacity_max", wanted),
            setting(recording.facts, "innodb_io_capacity", wanted // 2),
        ),
        risk="More pages are written a second, and fewer changes share one write.",
        durability=Level.L3,
        verify="More pages are flushed a second, and the age stays below 70 % of its limit.",
        confidence=0.6 if busy is None else 0.97 if busy < _IDLE_MS_PER_S else 0.8,
        ruled_out=(
            "a device at its limit: it was not busy all the time"
            if busy is not None
            else "a log that is too small: judged apart",
        ),
        series=(
            "innodb.innodb_buffer_pool_pages_flushed",
            *names(recording, "checkpoint_distance_bytes", "checkpoint_age_limit_bytes"),
        ),
    )


def _while_it_climbs(recording: Recording) -> float | None:
    """Most pages a second that were flushed while the age was in the upper half of its limit and nothing forced the
    flusher yet; None when that was too short to tell. At the limit itself it writes whatever it is allowed."""
    age = recording.role("checkpoint_distance_bytes")
    limit = recording.role("checkpoint_age_limit_bytes").median()
    flushed = recording.series("innodb", "innodb_buffer_pool_pages_flushed")
    share = np.interp(flushed.t_s, age.t_s, age.values / max(1.0, limit))
    inside = (share >= _CLIMB) & (share < ASYNC_SHARE)
    forced = flushed.t_s[share >= ASYNC_SHARE]
    if len(forced):
        # The first time is enough: from then on it swings between being forced and catching up.
        inside &= flushed.t_s <= forced[0]
    chosen = flushed.where(inside)
    return chosen.max() if len(chosen) >= _CLIMB_MIN else None


def _example(*, bound: bool) -> Example:
    """io_capacity 200; 210 pages a second are flushed with the age near its limit, and the disk is idle or busy."""
    example = Example(lowest_per_s=200)
    example.level("innodb.innodb_checkpoint_age", 40e6, during=77e6, unit="B", role="checkpoint_distance_bytes")
    example.level("innodb.innodb_checkpoint_max_age", 80e6, unit="B", role="checkpoint_age_limit_bytes")
    example.level("innodb.innodb_buffer_pool_pages_flushed", 210)
    example.level("disk.busy_ms", 100 if bound else 995, role="disk_busy_ms")
    example.fact("setting.innodb_io_capacity", 200)
    example.fact("setting.innodb_io_capacity_max", 400)
    return example


DIAGNOSIS = Diagnosis(
    id="io-capacity-too-low",
    title="The flusher stands at its own bound while the checkpoint's age grows",
    check=check,
    source="How To Tune MariaDB Write Performance (Percona, 2012)",
    bad=lambda: _example(bound=True),
    good=lambda: _example(bound=False),
)
