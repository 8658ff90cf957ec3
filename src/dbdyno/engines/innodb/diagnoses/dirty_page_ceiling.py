"""dirty-page-ceiling: the share of dirty pages stood at its ceiling

What is seen: the dirty pages are at innodb_max_dirty_pages_pct of the pool; pages are flushed at the full io_capacity
whatever clients do.

Why it happens: above the ceiling the flusher works at its full rate until the share is below. With the log not near
its limit, it is memory and not the log that asks for it.

Remedy: a larger buffer pool, or a faster flush (innodb_io_capacity) that begins earlier
(innodb_max_dirty_pages_pct_lwm); a higher ceiling only where it had been lowered.

Cost: memory; more writes in quiet times.

Rivals: a checkpoint's age at its limit, which can be reached with three pages in a hundred dirty.

References: "The relationship between Innodb Log checkpointing and dirty Buffer pool pages" (undated, of MySQL 5.5,
about 2011).
"""

from __future__ import annotations

from dbdyno.engines.innodb.diagnoses._server import judged_elsewhere, number, setting, severity, within
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Stall

_NEAR = 0.97
_PAGES_MIN = 500


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if judged_elsewhere(recording, stall):
        return None
    dirty = within(recording.series("innodb", "innodb_buffer_pool_pages_dirty"), stall).max()
    data = within(recording.series("innodb", "innodb_buffer_pool_pages_data"), stall).max()
    free = within(recording.series("innodb", "innodb_buffer_pool_pages_free"), stall).min()
    ceiling = recording.facts.number("setting.innodb_max_dirty_pages_pct") / 100
    share = dirty / (data + free) if data + free > 0 else 0.0
    if ceiling <= 0 or share < _NEAR * ceiling or dirty < _PAGES_MIN:
        return None
    pace = number(recording.facts, "innodb_io_capacity", 200.0)
    return Finding(
        says=f"{share:.0%} of the buffer pool's pages were dirty; the ceiling is {ceiling:.0%}.",
        why="Above the ceiling the flusher writes at its full rate, whatever clients do.",
        severity=severity(recording, stall),
        evidence={"dirty_share": round(share, 3), "ceiling": ceiling, "dirty_pages": round(dirty)},
        remedy="Flush earlier and faster, or give the pool more memory.",
        fixes=(
            setting(recording.facts, "innodb_io_capacity", max(1000, round(2 * pace))),
            setting(recording.facts, "innodb_max_dirty_pages_pct_lwm", max(1, round(50 * ceiling))),
        ),
        risk="More pages are written in quiet times.",
        durability=Level.L3,
        verify="The dirty pages stay below the ceiling under the same load.",
        confidence=0.8,
        ruled_out=("the checkpoint's age: judged apart, and independent of the share of dirty pages",),
        series=("innodb.innodb_buffer_pool_pages_dirty", "innodb.innodb_buffer_pool_pages_data"),
    )


def _example(*, at_ceiling: bool) -> Example:
    example = Example(lowest_per_s=300)
    example.level("innodb.innodb_buffer_pool_pages_data", 60000)
    example.level("innodb.innodb_buffer_pool_pages_free", 5000)
    example.level("innodb.innodb_buffer_pool_pages_dirty", 30000, during=58500 if at_ceiling else 30000)
    example.fact("setting.innodb_max_dirty_pages_pct", 90)
    example.fact("setting.innodb_io_capacity", 200)
    return example


DIAGNOSIS = Diagnosis(
    id="dirty-page-ceiling",
    title="The share of dirty pages stood at its ceiling",
    check=check,
    source="The relationship between Innodb Log checkpointing and dirty Buffer pool pages (undated, about 2011)",
    bad=lambda: _example(at_ceiling=True),
    good=lambda: _example(at_ceiling=False),
)
