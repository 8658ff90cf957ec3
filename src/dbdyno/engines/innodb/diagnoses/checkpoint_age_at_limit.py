"""checkpoint-age-at-limit: writers waited for a synchronous checkpoint flush

What is seen: throughput falls to (almost) nothing for a short time while writes peak, and the checkpoint's age stands
at its limit. The share of dirty pages may be small at that time: both are independent of each other.

Why it happens: the log is circular. A change may not be overwritten before its page is in the data files, so that at
the limit (15/16 of the greatest age) every writer waits until the oldest dirty pages are written.

Remedy: flush earlier and faster (innodb_io_capacity and its maximum up to what the device writes, adaptive flushing
on), or a larger log, which gives the flusher more time.

Cost: recovery after a crash takes longer with a larger log; more flushing writes pages more often.

Rivals: a slow device without the age at its limit; row locks; the ceiling of dirty pages.

References: "The relationship between Innodb Log checkpointing and dirty Buffer pool pages" (undated, of MySQL 5.5,
about 2011); "How To Tune MariaDB Write Performance" (Percona, 2012).
"""

from __future__ import annotations

import numpy as np

from dbdyno.engines.innodb.diagnoses._server import (
    SYNC_SHARE,
    age_share,
    judged_elsewhere,
    log_capacity,
    names,
    number,
    setting,
    severity,
    within,
)
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Stall
from dbdyno.model.units import bytes_text


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    share = age_share(recording, stall)
    if judged_elsewhere(recording, stall) or share < SYNC_SHARE:
        return None
    facts = recording.facts
    age = within(recording.role("checkpoint_distance_bytes"), stall).max()
    limit = recording.role("checkpoint_age_limit_bytes").median()
    dirty = within(recording.series("innodb", "innodb_buffer_pool_pages_dirty"), stall).max()
    data = max(1.0, within(recording.series("innodb", "innodb_buffer_pool_pages_data"), stall).median())
    pace = number(facts, "innodb_io_capacity", 200.0)
    return Finding(
        says=f"The checkpoint's age came to {bytes_text(age)}, {share:.0%} of its limit of {bytes_text(limit)}, near "
        "which writers wait until pages are flushed.",
        why="A log record may not be overwritten before its page is in the data files.",
        severity=severity(recording, stall),
        evidence={
            "checkpoint_age_bytes": round(age),
            "checkpoint_age_limit_bytes": round(limit),
            "dirty_share": round(dirty / data, 3),
        },
        remedy="Give the flusher more time with a larger log, and let it write faster before the limit is near.",
        fixes=(
            log_capacity(facts, 4 * limit),
            setting(facts, "innodb_io_capacity", max(1000, round(2 * pace))),
        ),
        risk="A larger log takes longer to recover from; flushing faster writes the same pages more often.",
        durability=Level.L3,
        verify="The checkpoint's age stays below 7/8 of its limit under the same load.",
        confidence=min(0.95, 0.7 + 4 * (share - SYNC_SHARE)) if stall is not None else 0.8,
        ruled_out=(f"the ceiling of dirty pages: only {dirty / data:.0%} of the pages were dirty",)
        if dirty / data < 0.7
        else ("a slow device alone: the age would not stand at the limit",),
        series=(
            *names(recording, "checkpoint_distance_bytes", "checkpoint_age_limit_bytes"),
            "innodb.innodb_buffer_pool_pages_dirty",
        ),
    )


def _example(*, at_limit: bool) -> Example:
    """80 MB of age allowed; the age reaches it in the stall (3 % of pages dirty), or stays at half."""
    example = Example()
    top = 79.5e6 if at_limit else 40e6
    example.curve(
        "innodb.innodb_checkpoint_age",
        lambda t: np.where((t > 58) & (t <= 70), top, 30e6 + 0.4e6 * np.minimum(t, 50)),
        unit="B",
        role="checkpoint_distance_bytes",
    )
    example.level("innodb.innodb_checkpoint_max_age", 80e6, unit="B", role="checkpoint_age_limit_bytes")
    example.level("innodb.innodb_buffer_pool_pages_dirty", 2000)
    example.level("innodb.innodb_buffer_pool_pages_data", 65530)
    example.fact("setting.innodb_log_file_size", 100 << 20)
    example.fact("setting.innodb_io_capacity", 200)
    return example


DIAGNOSIS = Diagnosis(
    id="checkpoint-age-at-limit",
    title="Writers waited for a synchronous checkpoint flush",
    check=check,
    source="The relationship between Innodb Log checkpointing and dirty Buffer pool pages (undated, about 2011)",
    bad=lambda: _example(at_limit=True),
    good=lambda: _example(at_limit=False),
)
