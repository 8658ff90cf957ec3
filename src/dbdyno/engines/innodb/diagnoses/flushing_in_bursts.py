"""flushing-in-bursts: the flusher alternates between nothing and everything

What is seen: though the checkpoint's age is well below its limit, pages are written in bursts: most seconds (almost)
none, then thousands. Throughput falls in the bursts.

Why it happens: two rules fight: the idle flush writes everything as long as clients pause, adaptive flushing and the
dirty-page mark switch on and off; or innodb_io_capacity_max is far above what the device does.

Remedy: innodb_io_capacity_max near the device's rate, more loops to average over (innodb_flushing_avg_loops), an
early low-water mark.

Cost: it reacts later when the load changes.

Rivals: a flush for the checkpoint's age (then the age is near its limit); another writer on the device.

Not provoked: MariaDB 10.11 and MySQL 8.0.12 flushed evenly enough while the age was low; no load was found that makes
them switch between nothing and everything.

References: "How To Tune MariaDB Write Performance" (Percona, 2012); MySQL 8.0 manual, "Configuring Buffer Pool
Flushing".
"""

from __future__ import annotations

import numpy as np

from dbdyno.engines.innodb.diagnoses._server import age_share, names, number, setting
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Stall

_AGE_BELOW = 0.7
_BURST = 4.0
_PAGES_PER_S = 500.0


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is None:
        return None
    share = age_share(recording, stall)
    flushed = recording.series("innodb", "innodb_buffer_pool_pages_flushed")
    inside, outside = flushed.during(stall).mean(), flushed.outside(recording.stalls)
    quiet, peak = outside.median(), outside.max()
    bursts_elsewhere = peak > _BURST * max(quiet, 1.0)
    if share >= _AGE_BELOW or inside < max(_PAGES_PER_S, _BURST * quiet):
        return None
    loops = round(number(recording.facts, "innodb_flushing_avg_loops", 30.0))
    pace = number(recording.facts, "innodb_io_capacity_max", 2000.0)
    return Finding(
        says=f"{inside:.0f} pages a second were flushed in the stall and {quiet:.0f} in a usual second, with the "
        f"checkpoint's age at {share:.0%} of its limit.",
        why="Nothing forced the flush at that time: the flusher's own rules switched on all at once.",
        evidence={
            "flushed_per_s": round(inside),
            "flushed_per_s_usual": round(quiet),
            "age_share": round(share, 3),
            "bursts_elsewhere": bursts_elsewhere,
        },
        remedy="Bound the burst by innodb_io_capacity_max and average over more loops.",
        fixes=(
            setting(recording.facts, "innodb_io_capacity_max", max(200, round(min(pace, inside / 2)))),
            setting(recording.facts, "innodb_flushing_avg_loops", min(1000, 2 * loops)),
        ),
        risk="The flusher reacts later when the load changes; watch the checkpoint's age.",
        durability=Level.L3,
        verify="The rate of flushed pages stays even under the same load.",
        confidence=0.7 if bursts_elsewhere else 0.6,
        ruled_out=(f"a flush for the checkpoint's age: it was at {share:.0%} of its limit",),
        series=("innodb.innodb_buffer_pool_pages_flushed", *names(recording, "checkpoint_distance_bytes")),
    )


def _example(*, burst: bool) -> Example:
    example = Example(lowest_per_s=300)
    example.level("innodb.innodb_checkpoint_age", 20e6, unit="B", role="checkpoint_distance_bytes")
    example.level("innodb.innodb_checkpoint_max_age", 80e6, unit="B", role="checkpoint_age_limit_bytes")
    example.curve(
        "innodb.innodb_buffer_pool_pages_flushed",
        lambda t: np.where((t > 60) & (t <= 70), 5000.0 if burst else 20.0, 20.0),
    )
    example.fact("setting.innodb_io_capacity_max", 20000)
    example.fact("setting.innodb_flushing_avg_loops", 30)
    return example


DIAGNOSIS = Diagnosis(
    id="flushing-in-bursts",
    title="The flusher alternates between nothing and everything",
    check=check,
    source="How To Tune MariaDB Write Performance (Percona, 2012)",
    bad=lambda: _example(burst=True),
    good=lambda: _example(burst=False),
)
