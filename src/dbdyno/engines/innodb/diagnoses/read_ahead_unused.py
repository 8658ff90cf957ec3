"""read-ahead-unused: pages are read ahead and evicted before anybody asks for them

What is seen: a good part of the pages that are read are read ahead, and many of those leave the buffer pool without
having been used.

Why it happens: InnoDB reads a whole extent ahead when enough of the one before was read in order (and, when random
read-ahead is on, when enough of an extent is in the pool). Where the next extent is not wanted, or the pool is too full
to keep it until it is, its pages cost reads and push out others.

Remedy: innodb_read_ahead_threshold = 64, so that only an extent that was read wholly counts as a scan;
innodb_random_read_ahead = OFF, its default.

Cost: scans that profit from it wait for their pages more often.

What the page cleaner evicts of them is not counted (MySQL 8.0.12): where it evicts most, the cause is not seen.

Rivals: a pool that is too small (then pages that were asked for are evicted too, and misses are many); scans whose
pages are used (then hardly any is evicted unused).

References: MySQL 8.0 manual, 17.8.3.4 "Configuring InnoDB Buffer Pool Prefetching (Read-Ahead)" (2018): both counters
are there to judge the threshold by.
"""

from __future__ import annotations

from dbdyno.engines.innodb.diagnoses._server import (
    flag,
    judged_elsewhere,
    number,
    read_ahead,
    setting,
    severity,
    usual,
    within,
)
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Fix
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Stall

_UNUSED = 0.3
"""Share of the pages read ahead that nobody asked for."""
_OF_READS = 0.2
"""Share of all reads that are ahead: below it they do not matter."""
_AHEAD_PER_S = 100.0
_STALL_RISE = 1.5
_PAGES_OF_EXTENT = 64
_THRESHOLD = 56
"""The default."""


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if judged_elsewhere(recording, stall):
        return None
    ahead = read_ahead(recording, stall)
    leaving = recording.series("innodb", "innodb_buffer_pool_read_ahead_evicted")
    evicted = within(leaving, stall).mean()
    read = within(recording.series("innodb", "innodb_pages_read"), stall).mean()
    if ahead < _AHEAD_PER_S or ahead < _OF_READS * read or evicted < _UNUSED * ahead:
        return None
    if stall is not None and evicted < _STALL_RISE * usual(leaving, stall, 0.0):
        return None  # It does that always: that does not explain this stall.
    threshold = number(recording.facts, "innodb_read_ahead_threshold", _THRESHOLD)
    at_random = flag(recording.facts, "innodb_random_read_ahead", False)
    fixes: tuple[Fix, ...] = ()
    if at_random:
        fixes += (setting(recording.facts, "innodb_random_read_ahead", "OFF"),)
    if 0 < threshold < _PAGES_OF_EXTENT:
        fixes += (setting(recording.facts, "innodb_read_ahead_threshold", _PAGES_OF_EXTENT),)
    return Finding(
        says=f"{ahead:.0f} of {read:.0f} pages a second were read ahead, and {evicted:.0f} a second were evicted "
        "without having been used.",
        why=f"An extent is read ahead when {threshold:.0f} of {_PAGES_OF_EXTENT} pages of the one before were read in "
        f"order{', and when many of its own are in the pool' if at_random else ''}.",
        severity=severity(recording, stall),
        evidence={
            "read_ahead_per_s": round(ahead),
            "unused_per_s": round(evicted),
            "pages_read_per_s": round(read),
            "threshold": round(threshold),
            "random": at_random,
        },
        remedy="Read ahead only behind extents that were read wholly; look for the scan.",
        fixes=fixes,
        risk="Scans that profit from it wait for their pages more often.",
        durability=Level.L3,
        verify="Innodb_buffer_pool_read_ahead_evicted hardly rises.",
        confidence=0.6,
        ruled_out=("scans whose pages are used: those are not evicted unused",),
        start_s=0.0 if stall is None else None,
        end_s=recording.duration_s if stall is None else None,
        series=(
            "innodb.innodb_buffer_pool_read_ahead",
            "innodb.innodb_buffer_pool_read_ahead_evicted",
            "innodb.innodb_pages_read",
        ),
    )


def _example(*, unused: bool) -> Example:
    """In the stall 4000 pages a second are read ahead; most of them leave unused, or all are used."""
    example = Example(lowest_per_s=300)
    example.level("innodb.innodb_buffer_pool_read_ahead", 10, during=4000)
    example.level("innodb.innodb_buffer_pool_read_ahead_evicted", 0, during=2500 if unused else 0)
    example.level("innodb.innodb_pages_read", 400, during=6000)
    example.fact("setting.innodb_read_ahead_threshold", 56)
    example.fact("setting.innodb_random_read_ahead", False)
    return example


DIAGNOSIS = Diagnosis(
    id="read-ahead-unused",
    title="Pages are read ahead that nobody asks for",
    check=check,
    source="MySQL 8.0 manual, 17.8.3.4 Configuring InnoDB Buffer Pool Prefetching (2018)",
    bad=lambda: _example(unused=True),
    good=lambda: _example(unused=False),
)
