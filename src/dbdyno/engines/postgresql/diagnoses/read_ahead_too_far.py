"""read-ahead-too-far: the kernel reads several times what the server asks for

What is seen: the disk is busy with reads that are large, as the kernel's read-ahead is or at least as its default, and
gives several times the bytes of the pages that the server asked the system for.

Why it happens: every page that the server does not hold is asked from the kernel, which takes reads that seem to be in
order as the beginning of a scan and reads further. Where the access is random after all, the rest is bandwidth spent
and room in the kernel's cache lost.

Remedy: a smaller read-ahead of the device: 128 KiB is the kernel's default, and 16 KiB a start where nearly all access
is random.

Cost: scans and backups read slower.

Rivals: scans (their pages are asked for: then bytes and pages agree); other programs and databases that read from the
same disk (the cause bulk-writer and the list of programs); a cache that is too small (many pages are asked for).

References: an article on tuning Linux for databases (Percona, 2016): 32 sectors for random access, against a wasted
cache; the kernel's ABI/stable/sysfs-block (2024).
"""

from __future__ import annotations

from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.facts import MissingFact
from dbdyno.model.finding import Finding, Fix, Needs, Severity
from dbdyno.model.recording import Recording, Stall
from dbdyno.model.units import bytes_text

_PAGE_BYTES = 8192
_TIMES = 3.0
"""Bytes from the disk over bytes of the pages that were asked for."""
_BYTES_PER_S_MIN = 10e6
_BUSY_MS_PER_S = 500.0
_NEAR = 0.25
"""A read's mean size over the read-ahead: it begins with single pages and comes to its bound in steps, …"""
_DEFAULT_KB = 128
"""… so that a mean beyond the default shows it as well: the default would not have read as much."""


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    misses = recording.role("cache_misses")
    if stall is not None:
        return None  # It makes all reads dear, and explains no single stall.
    device = str(recording.facts.value("host.disk_device"))
    if device not in recording.keys("disk"):
        raise MissingFact("host.disk_device", "it is not known which disk the data lie on")
    ahead_bytes = recording.facts.number("host.disk_read_ahead_bytes")
    got = recording.series("disk", "read_bytes", device).mean()
    asked = misses.mean() * _PAGE_BYTES
    size = got / max(1.0, recording.series("disk", "reads", device).mean())
    used = recording.series("disk", "busy_ms", device).mean()
    if ahead_bytes <= _DEFAULT_KB * 1024 or got < max(_BYTES_PER_S_MIN, _TIMES * asked):
        return None
    if asked <= 0 or used < _BUSY_MS_PER_S or size < min(_NEAR * ahead_bytes, _DEFAULT_KB * 1024):
        return None
    return Finding(
        says=f"{device} gave {bytes_text(got)}/s for {bytes_text(asked)}/s that the server asked for; a read is "
        f"{bytes_text(size)} large, and read-ahead {bytes_text(ahead_bytes)}.",
        why="What is read ahead and not asked for takes the disk's time and room in the kernel's cache.",
        severity=Severity.ADVICE,
        evidence={
            "read_bytes_per_s": round(got),
            "asked_bytes_per_s": round(asked),
            "read_bytes_each": round(size),
            "read_ahead_bytes": round(ahead_bytes),
        },
        remedy=f"A read-ahead of {_DEFAULT_KB} KiB; less where nearly all access is random.",
        fixes=(_smaller(device, ahead_bytes),),
        risk="Scans and backups read slower.",
        verify="disk.read_bytes falls, at as many transactions.",
        confidence=0.55,
        ruled_out=("scans: the server would have asked for as many pages as the disk gave",),
        series=("database.misses", f"disk.read_bytes/{device}", f"disk.reads/{device}", f"disk.busy_ms/{device}"),
    )


def _smaller(device: str, before_bytes: float) -> Fix:
    path = f"/sys/block/{device}/queue/read_ahead_kb"
    return Fix(
        kind="sysfs",
        name=path,
        value=str(_DEFAULT_KB),
        before=f"{before_bytes / 1024:.0f}",
        live=f"echo {_DEFAULT_KB} > {path}",
        needs=Needs.NOTHING,
        undo=f"echo {before_bytes / 1024:.0f} > {path}",
        fact="host.disk_read_ahead_bytes",
    )


def _example(*, far: bool) -> Example:
    """200 MB/s from the disk for 2000 pages a second, or for as many pages as that is."""
    example = Example(stall=None)
    example.level("database.misses", 2000 if far else 24000, role="cache_misses")
    example.level("disk.reads/vda", 100)
    example.level("disk.read_bytes/vda", 2e8, unit="B/s")
    example.level("disk.busy_ms/vda", 900, unit="ms/s", role="disk_busy_ms")
    example.fact("host.disk_device", "vda")
    example.fact("host.disk_read_ahead_bytes", 4 << 20)
    return example


DIAGNOSIS = Diagnosis(
    id="read-ahead-too-far",
    title="The kernel reads several times what the server asks for",
    check=check,
    source="An article on tuning Linux for databases (Percona, 2016)",
    bad=lambda: _example(far=True),
    good=lambda: _example(far=False),
)
