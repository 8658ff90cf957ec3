"""full-page-burst: whole pages flood the log after a checkpoint

What is seen: throughput falls just after a checkpoint began, and comes back step by step. The log grows several times
faster than before, most of it whole pages.

Why it happens: the first change of a page after a checkpoint puts the whole page into the log, so that a page that a
loss of power tore in two can be repaired. Right after the checkpoint nearly every change is a first one.

Remedy: compress these pages (wal_compression), and put checkpoints further apart (checkpoint_timeout, max_wal_size).
Never switch full_page_writes off.

Cost: processor time for compression; longer recovery with checkpoints further apart.

Rivals: the checkpoint's own writes and syncs (they come later and end with it); a burst of changes by the clients (then
records would grow as much as whole pages).

References: "Tuning PostgreSQL for sysbench-tpcc" (Percona, 2018): 42 % less log with compression; PostgreSQL 15 manual,
30.1 (2022).
"""

from __future__ import annotations

from dbdyno.engines.postgresql.diagnoses._pages import whole_pages
from dbdyno.engines.postgresql.diagnoses._settings import compressed_pages, further_apart
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Stall
from dbdyno.model.units import bytes_text


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is None:
        return None
    pages = whole_pages(recording, stall)
    begun = [one.t_s for one in recording.events if one.kind == "checkpoint" and one.t_s <= stall.end_s]
    after_s = stall.start_s - max(begun) if begun else None
    if not pages.flood:
        return None
    compressed = recording.facts.text("setting.wal_compression") != "off"
    return Finding(
        says=f"In the stall {pages.seen:.0f} whole pages a second went into the log ({pages.share:.0%} of it), "
        f"usually {pages.usual:.0f}.",
        why=f"A transaction logged {pages.each:.2g} whole pages instead of {pages.each_usual:.2g}; "
        f"the log grew by {bytes_text(pages.log_seen)}/s (usually {bytes_text(pages.log_usual)}/s) "
        "although less was done.",
        evidence={
            "full_page_images_per_s": round(pages.seen),
            "full_page_images_per_s_usual": round(pages.usual),
            "images_per_transaction": round(pages.each, 2),
            "images_per_transaction_usual": round(pages.each_usual, 2),
            "log_bytes_per_s": round(pages.log_seen),
            "log_bytes_per_s_usual": round(pages.log_usual),
            "since_checkpoint_s": None if after_s is None else round(after_s, 1),
        },
        remedy="Put checkpoints further apart." if compressed else "Compress whole pages in the log.",
        fixes=further_apart(recording.facts) if compressed else (compressed_pages(recording.facts),),
        durability=Level.L3,
        risk="Recovery after a crash takes longer."
        if compressed
        else "Compression takes processor time of the clients' processes.",
        verify="Log volume per transaction after a checkpoint falls.",
        confidence=0.7,
        ruled_out=("a burst of changes: whole pages grew, transactions did not",),
        series=("wal.full_page_images", "wal.position_bytes"),
    )


def _example(*, burst: bool) -> Example:
    """Just after a checkpoint's begin; with ten times the whole pages, or none more than usual."""
    example = Example(lowest_per_s=500)
    example.level("wal.full_page_images", 300, during=3000 if burst else 310)
    example.level("wal.position_bytes", 8e6, during=3e7 if burst else 4e6, role="wal_bytes")
    example.event(59.0, "checkpoint", end_s=100.0)
    example.fact("setting.wal_compression", "off")
    return example


DIAGNOSIS = Diagnosis(
    id="full-page-burst",
    title="Whole pages flood the log after a checkpoint",
    check=check,
    source="Tuning PostgreSQL for sysbench-tpcc (Percona, 2018)",
    bad=lambda: _example(burst=True),
    good=lambda: _example(burst=False),
)
