"""archiver-behind: finished log files wait to be archived

What is seen: the number of log files not yet archived grows, or attempts to archive fail; the folder of the log grows
with it.

Why it happens: archive_command (or the library) is slower than the log is written, or cannot reach its destination. The
server keeps every file until it is archived: in the end the disk is full and the server stops.

Remedy: mend the destination; archive in parallel (a tool that pushes several files at once); compress the log.

Cost: none for the server.

Rivals: a replication slot that holds the log (then files are archived, and kept).

References: PostgreSQL 15 manual, 26.3.1 "Setting Up WAL Archiving" (2022).
"""

from __future__ import annotations

from dbdyno.engines.postgresql.diagnoses._settings import compressed_pages
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Stall

_GROWN_FILES = 8


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is not None:
        return None
    behind = recording.series("archiver", "behind_files")
    failed = recording.series("archiver", "failed").total()
    failing = recording.series("archiver", "failing").last() > 0
    grown = behind.last() - behind.min()
    if not (failing and failed > 0) and not (grown >= _GROWN_FILES and behind.last() >= _GROWN_FILES):
        return None
    done = recording.series("archiver", "archived").total()
    says = f"{behind.last():.0f} finished log files wait to be archived, {max(grown, 0):.0f} more than at the least"
    compressed = recording.facts.text("setting.wal_compression") != "off"
    return Finding(
        says=says + (f"; {failed:.0f} attempts failed." if failed else "."),
        why="The server keeps every file until it is archived; a full disk stops it.",
        severity=Severity.CRITICAL if failing and failed > 0 else Severity.WARNING,
        evidence={
            "behind_files": round(behind.last()),
            "grown_files": round(grown),
            "archived_files": round(done),
            "failed_attempts": round(failed),
        },
        remedy="Mend the destination of archive_command." if failing else "Archive several files at a time.",
        fixes=() if compressed else (compressed_pages(recording.facts),),
        durability=Level.L3,
        risk="Compression of whole pages takes processor time of the clients' processes." if not compressed else "",
        verify="archiver.behind_files falls to 0 or 1.",
        confidence=0.95,
        ruled_out=("a replication slot that holds the log: these files were not archived at all",),
        start_s=0.0,
        end_s=recording.duration_s,
        series=("archiver.behind_files", "archiver.failed", "archiver.archived"),
    )


def _example(*, behind: bool) -> Example:
    """A backlog that grows by one file in four seconds, or stays at one."""
    example = Example(stall=None)
    example.curve("archiver.behind_files", lambda t: t // 4 if behind else t * 0 + 1)
    example.level("archiver.failed", 0)
    example.level("archiver.failing", 0)
    example.level("archiver.archived", 0.2)
    example.fact("setting.wal_compression", "off")
    return example


DIAGNOSIS = Diagnosis(
    id="archiver-behind",
    title="Finished log files wait to be archived",
    check=check,
    source="PostgreSQL 15 manual, 26.3.1 Setting Up WAL Archiving (2022)",
    bad=lambda: _example(behind=True),
    good=lambda: _example(behind=False),
)
