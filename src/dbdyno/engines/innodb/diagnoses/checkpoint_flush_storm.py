"""checkpoint-flush-storm: pages were flushed for the checkpoint's age, at the cost of clients

What is seen: in the stall many more pages are written than before it, while the checkpoint's age is high but below the
point at which writers wait: the asynchronous stage, or XtraDB's eager flushing at 75 % of the log.

Why it happens: flushing was too slow for too long, and then all at once the flusher writes as fast as it can; reads and
log writes queue behind it at the device.

Remedy: spread the work: adaptive flushing with a lower low-water mark, a higher innodb_io_capacity in usual times, no
neighbours on flash; a larger log.

Cost: more pages are written in quiet times; a larger log takes longer to recover from.

Rivals: a synchronous flush (age at its limit); the ceiling of dirty pages; another writer on the device.

Not provoked: with small logs MariaDB 10.11 and MySQL 8.0.12 either kept pace or came to the limit itself, for which
`checkpoint-age-at-limit` was named.

References: "How To Tune MariaDB Write Performance" (Percona, 2012): a write spike 370 to 400 s into each run.
"""

from __future__ import annotations

import numpy as np

from dbdyno.engines.innodb.diagnoses._server import (
    SYNC_SHARE,
    age_share,
    log_capacity,
    names,
    number,
    setting,
    usual,
)
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Stall

_FROM = 0.70
_TIMES = 2.0
_PAGES_PER_S = 100.0


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is None:
        return None
    share = age_share(recording, stall)
    flushed = recording.series("innodb", "innodb_buffer_pool_pages_flushed")
    inside = flushed.during(stall).max()
    before = usual(flushed, stall, inside)
    limit = recording.role("checkpoint_age_limit_bytes").median()
    if not _FROM <= share < SYNC_SHARE or inside < max(_PAGES_PER_S, _TIMES * before):
        return None
    pace = number(recording.facts, "innodb_io_capacity", 200.0)
    return Finding(
        says=f"{inside:.0f} pages a second were flushed in the stall, {before:.0f} before it; the checkpoint's age "
        f"was at {share:.0%} of its limit.",
        why="Near the limit pages are flushed for the age as fast as can be, and clients share the device with that.",
        evidence={
            "flushed_per_s": round(inside),
            "flushed_per_s_before": round(before),
            "age_share": round(share, 3),
        },
        remedy="Spread the flushing over the quiet time before, and give it more log to do so.",
        fixes=(
            setting(recording.facts, "innodb_io_capacity", max(1000, round(2 * pace))),
            log_capacity(recording.facts, 2 * limit / 0.8),
        ),
        risk="More pages are written in quiet times; a larger log takes longer to recover from.",
        durability=Level.L3,
        verify="The rate of flushed pages stays even, and the age below 70 % of its limit.",
        confidence=0.75,
        ruled_out=(f"a synchronous flush: the age stayed at {share:.0%}, below {SYNC_SHARE:.0%} of the limit",),
        series=(
            "innodb.innodb_buffer_pool_pages_flushed",
            *names(recording, "checkpoint_distance_bytes", "checkpoint_age_limit_bytes"),
        ),
    )


def _example(*, storm: bool) -> Example:
    """The age is at 80 % of its limit; flushing rises tenfold in the stall, or not."""
    example = Example(lowest_per_s=300)
    example.curve(
        "innodb.innodb_checkpoint_age",
        lambda t: 64e6 * np.minimum(1.0, t / 60),
        unit="B",
        role="checkpoint_distance_bytes",
    )
    example.level("innodb.innodb_checkpoint_max_age", 80e6, unit="B", role="checkpoint_age_limit_bytes")
    example.level("innodb.innodb_buffer_pool_pages_flushed", 200, during=2000 if storm else 200)
    example.fact("setting.innodb_io_capacity", 200)
    example.fact("setting.innodb_log_file_size", 100 << 20)
    return example


DIAGNOSIS = Diagnosis(
    id="checkpoint-flush-storm",
    title="Pages were flushed for the checkpoint's age, at the cost of clients",
    check=check,
    source="How To Tune MariaDB Write Performance (Percona, 2012)",
    bad=lambda: _example(storm=True),
    good=lambda: _example(storm=False),
)
