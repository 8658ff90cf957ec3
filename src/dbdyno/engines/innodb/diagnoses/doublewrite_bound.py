"""doublewrite-bound: half of what the busy disk writes is the double write

What is seen: the disk is busy all the time, and the pages of the doublewrite buffer are about as many as the pages
flushed.

Why it happens: each page is first written to the doublewrite buffer and synced, so that a torn page can be restored
after a power loss. Where the disk's bandwidth is the limit, that is half of it.

Remedy: a faster disk, or fewer page writes (a larger log, no neighbours). Off only where the file system proves that
it writes pages whole (ZFS, devices with atomic writes): elsewhere a power loss corrupts pages.

Cost: see the remedy; durability on other file systems.

Rivals: the log's syncs (small writes); reads.

References: "MySQL/ZFS Performance Update" (Percona, 2021); MySQL 8.0 manual, "Doublewrite Buffer".
"""

from __future__ import annotations

from dbdyno.engines.innodb.diagnoses._server import (
    DISK_BUSY_MS_PER_S,
    disk_busy_ms,
    judged_elsewhere,
    log_capacity,
    within,
)
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Stall

_PAGES_PER_S = 100.0
_SHARE = 0.35


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if judged_elsewhere(recording, stall):
        return None
    twice = within(recording.series("innodb", "innodb_dblwr_pages_written"), stall).mean()
    # MariaDB counts a batch as flushed when it is done, seconds after its pages were written.
    pages = max(twice, within(recording.series("innodb", "innodb_buffer_pool_pages_flushed"), stall).mean())
    busy = disk_busy_ms(recording, stall)
    log = within(recording.role("wal_bytes"), stall).mean()
    page_bytes = recording.facts.number("server.block_bytes")
    total = (twice + pages) * page_bytes + log
    share = twice * page_bytes / total if total > 0 else 0.0
    if busy < DISK_BUSY_MS_PER_S or twice < _PAGES_PER_S or share < _SHARE:
        return None
    return Finding(
        says=f"The disk was busy {busy / 10:.0f} % of the time, and {share:.0%} of what was written was the double "
        f"write of {twice:.0f} pages a second.",
        why="Each page is written to the doublewrite buffer and synced first, so that a torn page can be restored.",
        severity=Severity.WARNING if stall is not None else Severity.ADVICE,
        evidence={
            "double_written_pages_per_s": round(twice),
            "flushed_pages_per_s": round(pages),
            "log_bytes_per_s": round(log),
            "disk_busy_ms_per_s": round(busy),
        },
        remedy="Write fewer pages (a larger log gathers more changes in each), or to a faster disk. Switch the double "
        "write off only where the file system is proven to write pages whole.",
        fixes=(log_capacity(recording.facts, 4 * recording.role("checkpoint_age_limit_bytes").median()),),
        risk="Without the double write a power loss may corrupt pages for good.",
        durability=Level.L3,
        verify="Fewer pages are written for each transaction.",
        confidence=0.7,
        ruled_out=(f"the log's writes: {log / max(1.0, total):.0%} of what was written",),
        start_s=0.0 if stall is None else None,
        end_s=recording.duration_s if stall is None else None,
        series=(
            "innodb.innodb_dblwr_pages_written",
            "innodb.innodb_buffer_pool_pages_flushed",
            recording.role("disk_busy_ms").name,
            recording.role("wal_bytes").name,
        ),
    )


def _example(*, bound: bool) -> Example:
    example = Example(lowest_per_s=300)
    example.level("innodb.innodb_dblwr_pages_written", 500, during=2000 if bound else 20)
    example.level("innodb.innodb_buffer_pool_pages_flushed", 500, during=2000)
    example.level("disk.busy_ms", 300, during=995, role="disk_busy_ms")
    example.level("innodb.innodb_os_log_written", 2e6, unit="B/s", role="wal_bytes")
    example.level("innodb.innodb_checkpoint_max_age", 80e6, unit="B", role="checkpoint_age_limit_bytes")
    example.fact("server.block_bytes", 16384)
    return example


DIAGNOSIS = Diagnosis(
    id="doublewrite-bound",
    title="Half of what the busy disk writes is the double write",
    check=check,
    source="MySQL/ZFS Performance Update (Percona, 2021)",
    bad=lambda: _example(bound=True),
    good=lambda: _example(bound=False),
    symptom=True,
)
