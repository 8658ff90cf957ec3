"""flush-neighbours: pages are written only because they lie beside another

What is seen: innodb_flush_neighbors is on and the disk has no heads to move; a good part of the flushed pages are
neighbours (counter buffer_flush_neighbor_total_pages, where it is on).

Why it happens: on a rotating disk the seek costs most, so that writing the dirty pages of the same 64-page block costs
nothing more. On flash each of them is a write of its own, done before the page could gather more changes.

Remedy: innodb_flush_neighbors = 0 on flash.

Cost: none on flash; on a rotating disk more seeks.

Rivals: an io_capacity that is too high, which also writes pages early.

References: "How To Tune MariaDB Write Performance" (Percona, 2012): cont to none on SSD.
"""

from __future__ import annotations

from dbdyno.engines.innodb.diagnoses._server import setting
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.facts import MissingFact
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Stall

_PAGES_PER_S = 50.0
_SHARE = 0.2
MARIADB_IGNORES = 1_100_400
"""From 10.4 on MariaDB heeds the setting only on files whose device calls itself rotating (MDEV-17380, 2018)."""


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is not None:
        return None
    how = recording.facts.text("setting.innodb_flush_neighbors")
    flushed = recording.series("innodb", "innodb_buffer_pool_pages_flushed").mean()
    if how.lower() in ("0", "off", "none") or flushed < _PAGES_PER_S:
        return None
    share = _share(recording, flushed)
    if share is not None and share < _SHARE:
        return None
    if recording.facts.flag("host.disk_rotational"):
        # A virtual disk calls itself rotating whatever is under it, so that this does not tell.
        if recording.facts.has("host.virtualised") and recording.facts.flag("host.virtualised"):
            raise MissingFact("host.disk_rotational", "a virtual disk calls itself rotating whatever is under it")
        return None
    if share is None and recording.facts.find("server.version") is not None:
        version = recording.facts.number("server.version")
        if version >= MARIADB_IGNORES:
            return None
    return Finding(
        says=f"{flushed:.0f} pages a second are flushed together with their neighbours on a disk without heads"
        + ("." if share is None else f"; {share:.0%} of them are neighbours."),
        why="On flash a neighbour is a write of its own, done before the page could gather more changes.",
        severity=Severity.ADVICE,
        evidence={"flush_neighbors": how, "flushed_per_s": round(flushed), "neighbour_share": share},
        remedy="Write only the page that is due.",
        fixes=(setting(recording.facts, "innodb_flush_neighbors", 0),),
        risk="None on flash.",
        durability=Level.L3,
        verify="Pages written for each transaction fall.",
        confidence=0.6 if share is None else 0.9,
        ruled_out=("a rotating disk: the machine says that it is none",),
        start_s=0.0,
        end_s=recording.duration_s,
        series=("innodb.innodb_buffer_pool_pages_flushed",),
    )


def _share(recording: Recording, flushed: float) -> float | None:
    """Share of the flushed pages that are neighbours; None where the counter is off."""
    try:
        return recording.series("metrics", "buffer_flush_neighbor_total_pages").mean() / flushed
    except MissingFact:
        return None


def _example(*, flash: bool) -> Example:
    example = Example(stall=None)
    example.level("innodb.innodb_buffer_pool_pages_flushed", 2000)
    example.level("metrics.buffer_flush_neighbor_total_pages", 1500)
    example.fact("setting.innodb_flush_neighbors", 1)
    example.fact("host.disk_rotational", not flash)
    example.fact("host.virtualised", False)
    return example


DIAGNOSIS = Diagnosis(
    id="flush-neighbours",
    title="Pages are written only because they lie beside another",
    check=check,
    source="How To Tune MariaDB Write Performance (Percona, 2012)",
    bad=lambda: _example(flash=True),
    good=lambda: _example(flash=False),
)
