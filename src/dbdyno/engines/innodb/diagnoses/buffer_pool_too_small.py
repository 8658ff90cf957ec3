"""buffer-pool-too-small: the pages that are worked on do not fit the buffer pool

What is seen: no free pages, many page requests go to the disk, and throughput follows the disk's read rate; in a
stall a scan pushes out what others use.

Why it happens: every page that is not in memory costs a read, and every read needs a place that another page leaves,
often a dirty one that has to be written first.

Remedy: a larger innodb_buffer_pool_size, as far as memory is free; an index for the scan.

Cost: memory that connections, temporary tables and the file cache also need: watch for swap.

Rivals: a cold start (misses fall with time); a log or lock problem, in which reads do not rise; pages that are read
ahead, which the server counts among those that it had to read: they are taken off.

References: "Small innodb_page_size as a performance boost for SSD" (Percona, 2016): throughput by the pool's size;
"Is 80% of RAM how you should tune your innodb_buffer_pool_size?" (undated, before MySQL 5.7, about 2015).
"""

from __future__ import annotations

from dbdyno.engines.innodb.diagnoses._server import judged_elsewhere, number, read_ahead, setting, usual, within
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.facts import MissingFact
from dbdyno.model.finding import Finding, Fix, Severity
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Series, Stall

_MISSES = 0.01
_READS_PER_S = 100.0
_FREE = 0.05
_SCANNED = 1.2
_FILLING = 0.25
_STALL_RISE = 1.5


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if judged_elsewhere(recording, stall):
        return None
    misses, hits = recording.role("cache_misses"), recording.role("cache_hits")
    reads = _asked_for(recording, within(misses, stall).mean(), stall)
    share = reads / max(1.0, reads + within(hits, stall).mean())
    free = within(recording.series("innodb", "innodb_buffer_pool_pages_free"), stall).median()
    total = recording.series("innodb", "innodb_buffer_pool_pages_total").median()
    before = usual(misses, stall, 0.0)
    if share < _MISSES or reads < _READS_PER_S or not _full(recording, free, total):
        return None
    if stall is not None and reads < _STALL_RISE * before:
        return None  # It reads that much always: that does not explain this stall.
    if stall is None and _warms_up(misses):
        return None
    return Finding(
        says=f"{share:.1%} of the page requests went to the disk, {reads:.0f} a second, with {free:.0f} of {total:.0f} "
        "pages free.",
        why="The pages that are worked on do not fit the pool."
        if stall is None
        else f"Before the stall it read {before:.0f} pages a second: something pushed out what others use.",
        severity=Severity.WARNING if stall is not None else Severity.ADVICE,
        evidence={"miss_share": round(share, 4), "reads_per_s": round(reads), "free_pages": round(free)},
        remedy="Give the buffer pool more memory, as far as the machine has it; look for the scan.",
        fixes=_larger(recording),
        risk="Memory that connections and the file cache also need; too much of it makes the machine swap.",
        durability=Level.L3,
        verify="Innodb_buffer_pool_reads rises less for each transaction.",
        confidence=0.8 if stall is None else 0.7,
        ruled_out=("a cold start: misses do not fall with time",)
        if stall is None
        else ("a lock or the log: then reads would fall with throughput",),
        start_s=0.0 if stall is None else None,
        end_s=recording.duration_s if stall is None else None,
        series=(misses.name, hits.name, "innodb.innodb_buffer_pool_pages_free"),
    )


def _asked_for(recording: Recording, reads: float, stall: Stall | None) -> float:
    """Pages a second that were read because somebody wanted them: Innodb_buffer_pool_reads of MySQL 8.0.12 holds
    what random read-ahead fetched as well. All reads, where that is not known."""
    try:
        read = within(recording.series("innodb", "innodb_pages_read"), stall).mean()
        return min(reads, max(0.0, read - read_ahead(recording, stall)))
    except MissingFact:
        return reads


def _full(recording: Recording, free: float, total: float) -> bool:
    """Whether no page is free but those that the cleaner keeps ready by eviction: as many in each instance as it scans.
    In a small pool they are a good part of it. A pool that still fills is not full."""
    kept = number(recording.facts, "innodb_lru_scan_depth", 0.0)
    kept *= number(recording.facts, "innodb_buffer_pool_instances", 1.0)
    series = recording.series("innodb", "innodb_buffer_pool_pages_free")
    middle = float(series.t_s[0] + series.t_s[-1]) / 2
    early, late = series.between(-1.0, middle), series.between(middle, float(series.t_s[-1]))
    if len(early) and len(late) and early.median() - late.median() > _FILLING * total:
        return False
    return free <= max(_FREE * total, min(_SCANNED * kept, 0.9 * total))


def _warms_up(misses: Series) -> bool:
    """Whether the last third of the record misses much less than the first."""
    start, end = float(misses.t_s[0]), float(misses.t_s[-1])
    third = (end - start) / 3
    if third <= 0:
        return False
    return misses.between(end - third, end).mean() < 0.7 * misses.between(start, start + third).mean()


def _larger(recording: Recording) -> tuple[Fix, ...]:
    try:
        size = recording.facts.number("setting.innodb_buffer_pool_size")
    except MissingFact:
        return ()
    return (setting(recording.facts, "innodb_buffer_pool_size", round(2 * size)),)


def _example(*, small: bool) -> Example:
    example = Example(lowest_per_s=200)
    example.level("innodb.innodb_buffer_pool_reads", 200, during=6000 if small else 30, role="cache_misses")
    example.level("data.hits", 100000, during=40000, role="cache_hits")
    example.level("innodb.innodb_buffer_pool_pages_free", 50)
    example.level("innodb.innodb_buffer_pool_pages_total", 8192)
    example.fact("setting.innodb_buffer_pool_size", 128 << 20)
    return example


DIAGNOSIS = Diagnosis(
    id="buffer-pool-too-small",
    title="The pages that are worked on do not fit the buffer pool",
    check=check,
    source="Small innodb_page_size as a performance boost for SSD (Percona, 2016)",
    bad=lambda: _example(small=True),
    good=lambda: _example(small=False),
)
