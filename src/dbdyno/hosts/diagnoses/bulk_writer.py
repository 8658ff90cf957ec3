"""bulk-writer: another program writes in bulk beside the server

What is seen: in the stall far more is written than the server and the driver write, and one program is seen to do it.

Why it happens: a backup, a copy, a log rotation or an export shares disk, write cache and bandwidth with the server,
whose syncs wait behind it.

Remedy: another disk or time; a limit for the job (systemd's IOWriteBandwidthMax, rsync --bwlimit, ionice where the
scheduler heeds it); write past the page cache.

Cost: the job takes longer.

Rivals: the server's own writes (a checkpoint, temporary files): they are counted as the server's.

References: "The write cache: Swap insanity tome III" (Percona, 2017), where a backup split into files did it.
"""

from __future__ import annotations

from dbdyno.hosts.diagnoses._disk import data_device
from dbdyno.hosts.diagnoses._programs import BULK_BYTES, FACTOR, OTHER_DISK, bound, held_up, rates
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding
from dbdyno.model.recording import Recording, Series, Stall
from dbdyno.model.units import bytes_text

_FOREIGN = 0.3
"""Share of what reached the disk that was neither the server's nor the driver's."""
_UNSEEN = 0.6
"""The same where no program's writes fit what the disk took: the kernel writes back what the server changed earlier,
which nobody is charged for at that time."""
_MORE = 1.2
"""Times the usual bytes of the disk."""
_LESS = 0.6
"""The same. (A kernel whose page cache has large pages charges a program far more than reaches the disk, so that what
the server wrote says little by itself.)"""
_NAMED = 3


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is None:
        return None
    device = data_device(recording)
    disk = recording.series("disk", "write_bytes", device)
    seen = disk.during(stall, slack_s=1).mean()
    own = sum(_own(recording, who).during(stall, slack_s=1).mean() for who in recording.keys("process"))
    own_usual = sum(_own(recording, who).outside(recording.stalls).mean() for who in recording.keys("process"))
    foreign = max(seen - own, 0.0)
    usual = max(disk.outside(recording.stalls).mean() - own_usual, 0.0)
    program, per_s, fits = _writer(recording, stall, seen)
    by_difference = foreign >= max(_UNSEEN * seen, FACTOR * usual, BULK_BYTES) and per_s >= foreign
    disk_usual = disk.outside(recording.stalls).mean()
    if own >= seen and seen < _LESS * disk_usual:
        return None  # The server alone explains what the disk took, which is far less than usual.
    by_difference = by_difference and seen > _MORE * disk_usual
    if not program or not (fits or by_difference) or not held_up(recording, stall):
        return None
    return Finding(
        says=f"{program} wrote {bytes_text(per_s)}/s in the stall; the server wrote {bytes_text(own)}/s "
        f"and {device} took {bytes_text(seen)}/s.",
        why="The server's syncs wait behind the other program's writes.",
        evidence={
            "program": program,
            "program_bytes_per_s": round(per_s),
            "server_bytes_per_s": round(own),
            "disk_bytes_per_s": round(seen),
            "foreign_bytes_per_s": round(foreign),
            "foreign_bytes_per_s_usual": round(usual),
        },
        remedy=f"Move {program} to another disk or time, or bound what it may write.",
        fixes=(bound(program.partition(" or ")[0], device, per_s, "Write"),),
        risk="The job takes longer.",
        verify="writers.write_bytes of that program stays small while the server is busy.",
        confidence=0.5 if not fits else 0.8 if own <= per_s else 0.7,
        ruled_out=(f"the server's own writes: {bytes_text(own)}/s",),
        series=(
            f"writers.write_bytes/{program.partition(' or ')[0]}",
            f"disk.write_bytes/{device}",
            "process.write_bytes",
        ),
    )


def _own(recording: Recording, who: str) -> Series:
    return recording.series("process", "write_bytes", who)


def _writer(recording: Recording, stall: Stall, seen: float) -> tuple[str, float, bool]:
    """The programs that wrote most around the stall, the bytes per second of the largest, and whether these fit
    what the disk took: those that fit, else the largest of all."""
    found = [
        (max(_FOREIGN * seen, FACTOR * usual, BULK_BYTES) <= per_s <= OTHER_DISK * seen, per_s, program)
        for program, per_s, usual in rates(recording, stall, "write_bytes")
    ]
    if not found:
        return "", 0.0, False
    found.sort(reverse=True)
    fits, per_s, _ = found[0]
    # Which disk a program writes to is not known: all that fit are named.
    return " or ".join(name for one, _, name in found[:_NAMED] if one == fits), per_s, fits


def _example(*, bulk: bool) -> Example:
    """In the stall rsync writes 80 MB/s, or the server does."""
    example = Example()
    example.level("disk.write_bytes/vda", 1e7, during=9e7, unit="B/s", role="disk_write_bytes")
    example.level("disk.busy_ms/vda", 300, during=1000, unit="ms/s", role="disk_busy_ms")
    example.level("process.write_bytes/server", 9e6, during=5e6 if bulk else 8.5e7, role="process_write_bytes")
    example.level("process.write_bytes/driver", 0)
    example.level("pressure.io_some_us", 1e5, during=9e5, unit="us/s", role="pressure_io_us")
    example.level("writers.write_bytes/rsync", 100, during=8e7 if bulk else 100, unit="B/s")
    example.level("writers.write_bytes/journald", 2000, unit="B/s")
    return example


DIAGNOSIS = Diagnosis(
    id="bulk-writer",
    title="Another program writes in bulk beside the server",
    check=check,
    source="The write cache: Swap insanity tome III (Percona, 2017)",
    bad=lambda: _example(bulk=True),
    good=lambda: _example(bulk=False),
)
