"""temporary-space-grows: the shared space of temporary tables grows, and nothing bounds it

What is seen: the file of temporary tables (ibtmp1) became larger while it was recorded, by 64 MiB or more, and
innodb_temp_data_file_path has no `max`.

Why it happens: temporary tables that clients create share one file, in MySQL until 8.0.12 with those that statements
make on disk for themselves. It grows with the largest of them and does not become smaller before a restart, so that one
statement that runs away fills the data's file system.

Remedy: find the statement or the client; a `max` for the file, so that such a statement fails before the disk is full.

Cost: with a `max`, statements that need more fail; the setting needs a restart, which also gives the room back.

Rivals: many small temporary tables (temporary-tables-on-disk: they are counted, and reuse the room); tables of data
that grow, which lie in files of their own.

References: an article on the basics of InnoDB's performance (Percona, 2023): ibtmp1 and its max; MySQL 5.7 manual,
14.6.3.5 "The Temporary Tablespace" (2023). MySQL from 8.0.13 on has files for each session instead, which are not
looked at. The 64 MiB and the quarter of the disk are our choice.
"""

from __future__ import annotations

from dbdyno.engines.innodb.diagnoses._server import setting
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.recording import Recording, Stall
from dbdyno.model.units import bytes_text

_GROWN_BYTES = 64 << 20
_OF_DISK = 0.25
_GIB = 1 << 30


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is not None:
        return None  # It threatens the disk; it explains no stall.
    space = recording.series("temp_space", "allocated_bytes")
    path = recording.facts.text("setting.innodb_temp_data_file_path")
    grown_bytes, size_bytes = space.rise(), space.last()
    if ":max:" in path.lower() or grown_bytes < _GROWN_BYTES:
        return None
    disk = recording.facts.find("host.disk_bytes")
    disk_bytes = float(disk.value) if disk is not None and isinstance(disk.value, int | float) else 0.0
    grave = 0 < disk_bytes * _OF_DISK <= size_bytes
    bound = max(1, round(2 * size_bytes / _GIB))
    return Finding(
        says=f"The space of temporary tables grew by {bytes_text(grown_bytes)} to {bytes_text(size_bytes)}"
        + (f", on a disk of {bytes_text(disk_bytes)}." if disk_bytes else "."),
        why="Nothing bounds it, and it does not become smaller before a restart.",
        severity=Severity.WARNING if grave else Severity.ADVICE,
        evidence={"grown_bytes": round(grown_bytes), "size_bytes": round(size_bytes), "disk_bytes": round(disk_bytes)},
        remedy="Find the statement that makes such a temporary table; a bound for the file.",
        fixes=(setting(recording.facts, "innodb_temp_data_file_path", f"{path}:max:{bound}G"),),
        risk="Statements that need more room fail.",
        verify="temp_space.allocated_bytes stays where it is.",
        confidence=0.9,
        ruled_out=("tables of data: they have files of their own",),
        start_s=0.0,
        end_s=recording.duration_s,
        series=(space.name,),
    )


def _example(*, grows: bool) -> Example:
    """The file grows from 12 MiB to 1 GiB in two minutes, or stays."""
    example = Example(stall=None)
    grown = 1 << 30 if grows else 0
    example.curve("temp_space.allocated_bytes", lambda t: (12 << 20) + grown * t / 120, unit="B")
    example.fact("setting.innodb_temp_data_file_path", "ibtmp1:12M:autoextend")
    example.fact("host.disk_bytes", 20 << 30, unit="B")
    return example


DIAGNOSIS = Diagnosis(
    id="temporary-space-grows",
    title="The space of temporary tables grows without a bound",
    check=check,
    source="MySQL 5.7 manual, 14.6.3.5 The Temporary Tablespace (2023)",
    bad=lambda: _example(grows=True),
    good=lambda: _example(grows=False),
)
