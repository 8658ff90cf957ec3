"""free-pages-exhausted: statements had to make room in the buffer pool themselves

What is seen: there are (almost) no free pages, and statements waited for one (Innodb_buffer_pool_wait_free rises, in
a status text `Pending writes: … single page N`).

Why it happens: the page cleaner keeps innodb_lru_scan_depth free pages for each instance. When clients take them
faster, a statement evicts or flushes a single page at the end of the LRU list itself, one at a time, with a sync.

Remedy: innodb_lru_scan_depth so that the cleaner makes more pages a second than clients take, a faster flush, more
memory.

Cost: the scan costs CPU in each round of the cleaner; pages may leave memory earlier.

Rivals: a flush for the checkpoint's age, which takes pages from the other list.

References: "InnoDB Performance Optimization Basics" (Percona, 2023); MySQL 8.0 manual, "Configuring Buffer Pool
Flushing".
"""

from __future__ import annotations

from dbdyno.engines.innodb.diagnoses._server import judged_elsewhere, number, setting, severity, usual, within
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Stall

_WAITS_PER_S = 5.0
_FREE_SHARE = 0.03


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if judged_elsewhere(recording, stall):
        return None
    waits = within(recording.series("innodb", "innodb_buffer_pool_wait_free"), stall)
    free = within(recording.series("innodb", "innodb_buffer_pool_pages_free"), stall).min()
    total = recording.series("innodb", "innodb_buffer_pool_pages_total").median()
    before = usual(recording.series("innodb", "innodb_buffer_pool_wait_free"), stall, 0.0)
    if waits.max() < max(_WAITS_PER_S, 2 * before) or total <= 0 or free > _FREE_SHARE * total:
        return None
    depth = number(recording.facts, "innodb_lru_scan_depth", 1024.0)
    return Finding(
        says=f"Statements waited {waits.total():.0f} times for a free page of the buffer pool; {free:.0f} of "
        f"{total:.0f} pages were free.",
        why="The page cleaner made fewer pages free than clients took: each made room for itself, page by page.",
        severity=severity(recording, stall),
        evidence={"waits": round(waits.total()), "free_pages": round(free), "pages": round(total)},
        remedy="Let the page cleaner keep more pages free, and flush faster.",
        fixes=(
            setting(recording.facts, "innodb_lru_scan_depth", round(2 * depth)),
            setting(
                recording.facts,
                "innodb_io_capacity",
                max(1000, round(2 * number(recording.facts, "innodb_io_capacity", 200.0))),
            ),
        ),
        risk="Pages leave memory a little earlier; the scan costs CPU in each round.",
        durability=Level.L3,
        verify="Innodb_buffer_pool_wait_free does not rise under the same load.",
        confidence=0.85,
        ruled_out=("a flush for the checkpoint's age: that takes pages from the flush list and leaves nobody without",),
        series=("innodb.innodb_buffer_pool_wait_free", "innodb.innodb_buffer_pool_pages_free"),
    )


def _example(*, exhausted: bool) -> Example:
    example = Example(lowest_per_s=300)
    example.level("innodb.innodb_buffer_pool_wait_free", 0, during=400 if exhausted else 0)
    example.level("innodb.innodb_buffer_pool_pages_free", 1000, during=3 if exhausted else 900)
    example.level("innodb.innodb_buffer_pool_pages_total", 65000)
    example.fact("setting.innodb_lru_scan_depth", 1024)
    example.fact("setting.innodb_io_capacity", 200)
    return example


DIAGNOSIS = Diagnosis(
    id="free-pages-exhausted",
    title="Statements had to make room in the buffer pool themselves",
    check=check,
    source="InnoDB Performance Optimization Basics (Percona, 2023)",
    bad=lambda: _example(exhausted=True),
    good=lambda: _example(exhausted=False),
)
