"""bulk-reader: another program reads in bulk beside the server

What is seen: in the stall far more is read from the disk than the server and the driver read, and one program is seen
to do it.

Why it happens: a backup, a copy, a search through all files or a check of them reads as fast as the disk gives, and
the server's reads and syncs wait in the same queue.

Remedy: another disk or time; a limit for the job (systemd's IOReadBandwidthMax, rsync --bwlimit, ionice where the
scheduler heeds it); read a backup from a replica or a snapshot.

Cost: the job takes longer.

Rivals: the server's own reads (a scan, a cold cache): they are counted as the server's; a program that reads another
disk, or from the page cache (then the disk does not read that much).

References: "The write cache: Swap insanity tome III" (Percona, 2017), whose backup reads all that it copies.
"""

from __future__ import annotations

from dbdyno.hosts.diagnoses._disk import data_device
from dbdyno.hosts.diagnoses._programs import BULK_BYTES, FACTOR, OTHER_DISK, bound, held_up, rates
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding
from dbdyno.model.recording import Recording, Stall
from dbdyno.model.units import bytes_text

_SHARE = 0.5
"""Of what the disk read, by one program."""


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is None:
        return None
    device = data_device(recording)
    disk = recording.series("disk", "read_bytes", device)
    # The median: who reads is asked for rarely, and a first second of what was still let through is no match for that.
    seen, seen_usual = disk.during(stall).median(), disk.outside(recording.stalls).mean()
    own = recording.series("process", "read_bytes", "server").during(stall, slack_s=1).mean()
    program, per_s = _reader(recording, stall, max(_SHARE * seen, BULK_BYTES, own), OTHER_DISK * seen)
    if not program or seen < FACTOR * seen_usual or not held_up(recording, stall):
        return None
    return Finding(
        says=f"{program} read {bytes_text(per_s)}/s in the stall; the server read {bytes_text(own)}/s "
        f"and {device} gave {bytes_text(seen)}/s.",
        why="The server's reads and syncs wait behind the other program's reads.",
        evidence={
            "program": program,
            "program_bytes_per_s": round(per_s),
            "server_bytes_per_s": round(own),
            "disk_bytes_per_s": round(seen),
            "disk_bytes_per_s_usual": round(seen_usual),
        },
        remedy=f"Move {program} to another disk or time, or bound what it may read.",
        fixes=(bound(program, device, per_s, "Read"),),
        risk="The job takes longer.",
        verify="writers.read_bytes of that program stays small while the server is busy.",
        confidence=0.8,
        ruled_out=(f"the server's own reads: {bytes_text(own)}/s",),
        series=(f"writers.read_bytes/{program}", f"disk.read_bytes/{device}", "process.read_bytes"),
    )


def _reader(recording: Recording, stall: Stall, least: float, most: float) -> tuple[str, float]:
    """Who read most, more than before, of those that fit what the disk gave; and how much a second."""
    fitting = [
        (program, per_s)
        for program, per_s, usual in rates(recording, stall, "read_bytes")
        if max(least, FACTOR * usual) <= per_s <= most
    ]
    return max(fitting, key=lambda one: one[1], default=("", 0.0))


def _example(*, bulk: bool) -> Example:
    """In the stall a backup reads 80 MB/s, or the server does."""
    example = Example()
    example.level("disk.read_bytes/vda", 1e7, during=9e7, unit="B/s")
    example.level("disk.busy_ms/vda", 300, during=1000, unit="ms/s", role="disk_busy_ms")
    example.level("process.read_bytes/server", 9e6, during=5e6 if bulk else 8.5e7, unit="B/s")
    example.level("process.read_bytes/driver", 0)
    example.level("pressure.io_some_us", 1e5, during=9e5, unit="us/s", role="pressure_io_us")
    example.level("writers.read_bytes/rsync", 100, during=8e7 if bulk else 100, unit="B/s")
    example.level("writers.read_bytes/updatedb", 2000, unit="B/s")
    return example


DIAGNOSIS = Diagnosis(
    id="bulk-reader",
    title="Another program reads in bulk beside the server",
    check=check,
    source="The write cache: Swap insanity tome III (Percona, 2017)",
    bad=lambda: _example(bulk=True),
    good=lambda: _example(bulk=False),
)
