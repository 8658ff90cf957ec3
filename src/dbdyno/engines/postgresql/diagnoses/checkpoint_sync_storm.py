"""checkpoint-sync-storm: a checkpoint's syncs keep the disk from everybody else

What is seen: at the end of a checkpoint throughput falls, often to nothing; checkpoint_sync_time grows by as much as
the stall lasts.

Why it happens: pages that a checkpoint writes go to the kernel's cache first. When the kernel has not yet brought them
to disk, the syncs at the end do it all at once, and commits that need their log on the same disk wait behind.

Remedy: make write-back early and even: checkpoint_flush_after, a low vm.dirty_background_bytes, and
checkpoint_completion_target 0.9. Log on a disk of its own takes commits out of the queue.

Cost: pages that are changed often are written more often.

Rivals: syncs of the log alone (no checkpoint ran); a checkpoint whose time went into writing, not syncing.

References: PostgreSQL 15 manual, 20.5.2 "Checkpoints" (2022); "The write cache: Swap insanity tome III" (Percona,
2017).
"""

from __future__ import annotations

from dbdyno.engines.postgresql.diagnoses._settings import bytes_of, setting
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Fix
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Stall
from dbdyno.model.units import seconds_text

_SHARE = 0.3
"""Syncs that took this share of a stall explain it."""
_BEFORE_S = 2.0
_AFTER_S = 5.0
"""Sync time is counted when the checkpoint ends, which may be after the clients got on."""


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is None:
        return None
    synced_s = recording.role("checkpoint_sync_ms").between(stall.start_s - _BEFORE_S, stall.end_s + _AFTER_S)
    written_s = recording.role("checkpoint_write_ms").between(stall.start_s - _BEFORE_S, stall.end_s + _AFTER_S)
    sync_s, write_s = synced_s.total() / 1e3, written_s.total() / 1e3
    if sync_s < _SHARE * stall.seconds:
        return None
    fixes = [
        Fix(
            kind="sysctl",
            name="vm.dirty_background_bytes",
            value=str(64 << 20),
            live=f"sysctl -w vm.dirty_background_bytes={64 << 20}",
            file="/etc/sysctl.d/90-database.conf",
            line=f"vm.dirty_background_bytes = {64 << 20}",
            fact="host.dirty_background_bytes",
        )
    ]
    if bytes_of(recording.facts, "checkpoint_flush_after") == 0:
        fixes.insert(0, setting(recording.facts, "checkpoint_flush_after", 32))
    return Finding(
        says=f"A checkpoint synced for {seconds_text(sync_s)} around the stall of {seconds_text(stall.seconds)}.",
        why="Commits wait for the same disk that the checkpoint's syncs keep busy.",
        evidence={"checkpoint_sync_s": round(sync_s, 2), "checkpoint_write_s": round(write_s, 2)},
        remedy="Bring the checkpoint's pages to disk early and evenly; give the log a disk of its own.",
        fixes=tuple(fixes),
        durability=Level.L3,
        risk="Pages that are changed again and again are written more often.",
        verify="checkpoint_sync_ms stays small at each checkpoint.",
        confidence=0.75 if sync_s >= 0.6 * stall.seconds else 0.6,
        ruled_out=(
            f"syncs of the log alone: the checkpoint itself reports {seconds_text(sync_s)} of syncs",
            f"writing rather than syncing: it wrote for {seconds_text(write_s)}",
        ),
        series=("checkpoints.sync_ms", "checkpoints.write_ms"),
    )


def _example(*, stormy: bool) -> Example:
    """A checkpoint ends with the stall; its syncs took 8 s, or a tenth of one."""
    example = Example()
    example.curve("checkpoints.sync_ms", lambda t: (t == 70) * (8000.0 if stormy else 100.0), role="checkpoint_sync_ms")
    example.curve("checkpoints.write_ms", lambda t: (t == 70) * 9000.0, role="checkpoint_write_ms")
    example.fact("setting.checkpoint_flush_after", 32, unit="8kB")
    return example


DIAGNOSIS = Diagnosis(
    id="checkpoint-sync-storm",
    title="A checkpoint's syncs keep the disk from commits",
    check=check,
    source="PostgreSQL 15 manual, 20.5.2 Checkpoints (2022)",
    bad=lambda: _example(stormy=True),
    good=lambda: _example(stormy=False),
)
