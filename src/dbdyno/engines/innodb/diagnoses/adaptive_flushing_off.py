"""adaptive-flushing-off: nothing flushes ahead of the checkpoint's limit

What is seen: innodb_adaptive_flushing is off (or its low-water mark is so high that it never begins), and the age of
the checkpoint climbs without pause to the point where pages are flushed at once.

Why it happens: adaptive flushing writes pages at the pace at which the log is filled. Without it there is only the
idle flush at a fixed rate, and then the storm.

Remedy: innodb_adaptive_flushing = ON, innodb_adaptive_flushing_lwm about 10.

Cost: pages are written earlier, a few of them twice.

Rivals: a log that is too small for any flusher; an io_capacity that holds the flusher back though it is adaptive.

References: "How To Tune MariaDB Write Performance" (Percona, 2012); "Tuning for heavy writing workloads" (Percona,
2009).
"""

from __future__ import annotations

import numpy as np

from dbdyno.engines.innodb.diagnoses._server import (
    ASYNC_SHARE,
    SYNC_SHARE,
    age_share,
    flag,
    judged_elsewhere,
    names,
    number,
    setting,
    severity,
)
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Stall

_LATE_PCT = 70.0
_HIGH = 0.75


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    share = age_share(recording, stall)
    if judged_elsewhere(recording, stall) or share < _HIGH:
        return None
    on = recording.facts.flag("setting.innodb_adaptive_flushing")
    mark = number(recording.facts, "innodb_adaptive_flushing_lwm", 10.0)
    if on and mark < _LATE_PCT:
        return None
    name = "innodb_adaptive_flushing_lwm" if on else "innodb_adaptive_flushing"
    return Finding(
        says=f"The checkpoint's age came to {share:.0%} of its limit, and "
        + (f"adaptive flushing begins only at {mark:.0f} %." if on else "adaptive flushing is off."),
        why="Pages are not flushed at the pace at which the log fills, but all at once near the limit.",
        severity=severity(recording, stall),
        evidence={
            "age_share": round(share, 3),
            "adaptive_flushing": flag(recording.facts, "innodb_adaptive_flushing", True),
            "lwm_pct": mark,
        },
        remedy="Switch adaptive flushing on and let it begin early.",
        fixes=(setting(recording.facts, name, 10 if on else "ON"),),
        risk="Pages are written earlier, a few of them twice.",
        durability=Level.L3,
        verify=f"The age stays below {ASYNC_SHARE:.0%} of its limit under the same load.",
        confidence=0.97 if share >= SYNC_SHARE else 0.85,
        ruled_out=("an io_capacity that holds an adaptive flusher back: there was none at work",),
        series=names(recording, "checkpoint_distance_bytes", "checkpoint_age_limit_bytes"),
    )


def _example(*, on: bool) -> Example:
    example = Example()
    example.curve(
        "innodb.innodb_checkpoint_age",
        lambda t: 76e6 * np.minimum(1.0, t / 60),
        unit="B",
        role="checkpoint_distance_bytes",
    )
    example.level("innodb.innodb_checkpoint_max_age", 80e6, unit="B", role="checkpoint_age_limit_bytes")
    example.fact("setting.innodb_adaptive_flushing", "ON" if on else "OFF")
    example.fact("setting.innodb_adaptive_flushing_lwm", 10)
    return example


DIAGNOSIS = Diagnosis(
    id="adaptive-flushing-off",
    title="Nothing flushes ahead of the checkpoint's limit",
    check=check,
    source="How To Tune MariaDB Write Performance (Percona, 2012)",
    bad=lambda: _example(on=False),
    good=lambda: _example(on=True),
)
