"""io-capacity-too-high: pages are flushed before they could gather changes

What is seen: a changed page is written within a second or two, though the checkpoint's age is far below its limit, and
every few changed rows cost a page write.

Why it happens: innodb_io_capacity is a rate that the idle flush uses up. With more of it than there are changes, each
page is written at once, and written again after the next change: write combining is lost, and reads and log writes
wait behind it.

Remedy: as low as practical: a lower innodb_io_capacity, watching that the age stays well below its limit.

Cost: more dirty pages, a longer recovery.

Rivals: a dirty-page ceiling that was set very low; a load whose changes do not share pages.

References: "The relationship between Innodb Log checkpointing and dirty Buffer pool pages" (undated, of MySQL 5.5,
about 2011); "InnoDB Performance Optimization Basics" (Percona, 2023): as low as practical.
"""

from __future__ import annotations

from dbdyno.engines.innodb.diagnoses._server import age_share, names, number, setting
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Stall
from dbdyno.model.units import seconds_text

_DIRTY_S = 3.0
"""A changed page waits for so short a time before it is written (pages dirty / pages written a second) …"""
_AGE = 0.3
_PAGES_PER_S = 200.0
_PER_ROW = 0.25
"""… that there is a page write for every few changed rows."""
_CAPACITY = 1000.0


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is not None:
        return None
    pace = recording.facts.number("setting.innodb_io_capacity")
    dirty = recording.series("innodb", "innodb_buffer_pool_pages_dirty").quantile(0.9)
    data = max(1.0, recording.series("innodb", "innodb_buffer_pool_pages_data").median())
    flushed = recording.series("innodb", "innodb_buffer_pool_pages_flushed").mean()
    rows = recording.role("rows_written").mean()
    share = age_share(recording, None)
    waited_s = dirty / flushed if flushed > 0 else float("inf")
    if pace < _CAPACITY or waited_s > _DIRTY_S or share > _AGE or flushed < max(_PAGES_PER_S, _PER_ROW * rows):
        return None
    if number(recording.facts, "innodb_max_dirty_pages_pct", 90.0) < 10:
        return None
    return Finding(
        says=f"{flushed:.0f} pages a second are flushed for {rows:.0f} changed rows a second: a page is written "
        f"{seconds_text(waited_s)} after its change, and only {dirty / data:.1%} of the pages are dirty.",
        why=f"innodb_io_capacity is {pace:.0f}: pages are written before they could gather more changes.",
        severity=Severity.ADVICE,
        evidence={
            "flushed_per_s": round(flushed),
            "rows_per_s": round(rows),
            "dirty_share": round(dirty / data, 4),
            "dirty_s": round(waited_s, 2),
            "age_share": round(share, 3),
            "io_capacity": pace,
        },
        remedy="Lower it step by step, while the checkpoint's age stays well below its limit.",
        fixes=(setting(recording.facts, "innodb_io_capacity", max(200, round(pace / 2))),),
        risk="More dirty pages and a longer recovery; with too little, the age comes to its limit.",
        durability=Level.L3,
        verify="Pages written for each changed row fall, and throughput does not.",
        confidence=0.6,
        ruled_out=(f"a log that is short: the age came to {share:.0%} of its limit",),
        start_s=0.0,
        end_s=recording.duration_s,
        series=(
            "innodb.innodb_buffer_pool_pages_flushed",
            "innodb.innodb_buffer_pool_pages_dirty",
            *names(recording, "rows_written"),
        ),
    )


def _example(*, high: bool) -> Example:
    example = Example(stall=None)
    example.level("innodb.innodb_checkpoint_age", 5e6, unit="B", role="checkpoint_distance_bytes")
    example.level("innodb.innodb_checkpoint_max_age", 80e6, unit="B", role="checkpoint_age_limit_bytes")
    example.level("innodb.innodb_buffer_pool_pages_data", 60000)
    example.level("innodb.innodb_buffer_pool_pages_dirty", 50 if high else 20000)
    example.level("innodb.innodb_buffer_pool_pages_flushed", 900)
    example.level("totals.rows_written", 1000, role="rows_written")
    example.fact("setting.innodb_io_capacity", 20000)
    return example


DIAGNOSIS = Diagnosis(
    id="io-capacity-too-high",
    title="Pages are flushed before they could gather changes",
    check=check,
    source="The relationship between Innodb Log checkpointing and dirty Buffer pool pages (undated, about 2011)",
    bad=lambda: _example(high=True),
    good=lambda: _example(high=False),
)
