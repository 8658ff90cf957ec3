"""disk-saturated: the disk under the data does all that it can

What is seen: the device is busy the whole time, operations wait in its queue, and their number or bytes stand at the
most that was seen in the record, or at a limit that is set on the server's group.

Why it happens: more is asked of the disk than it gives. Who asks is the business of other causes; this one names the
resource.

Remedy: look at the causes beside this one first; then a disk that does more, or less work for it (cache, log on
another disk).

Cost: money, or the causes' own.

Rivals: a disk that waits for one slow operation at a time (busy, but far below its most: then it is its latency).

References: an article on write performance (Percona, 2012): capacity is what the device does during a stall.
"""

from __future__ import annotations

from dbdyno.hosts.diagnoses._disk import busy, data_device, inside, operations
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Fix, Needs, Severity
from dbdyno.model.recording import Recording, Stall
from dbdyno.model.units import bytes_text

_BUSY = 0.9
_NEAR = 0.8
_QUEUE = 2.0
_CAPACITY = 0.98
"""Quantile that stands for the most that the device did: one second alone may be an error of the clock."""


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    device = data_device(recording)
    used = inside(busy(recording, device), stall).mean()
    queue = inside(recording.series("disk", "queue_ms", device), stall).mean() / 1e3
    all_operations = operations(recording, device)
    moved = recording.series("disk", "write_bytes", device)
    seen, most = inside(all_operations, stall).mean(), all_operations.quantile(_CAPACITY)
    seen_bytes, most_bytes = inside(moved, stall).mean(), moved.quantile(_CAPACITY)
    limit = _limit(recording)
    at_limit = limit is not None and seen >= _NEAR * limit
    full = used >= _BUSY and queue >= _QUEUE and (seen >= _NEAR * most or seen_bytes >= _NEAR * most_bytes)
    if not full and not (at_limit and queue >= 1.0):
        return None
    against = f"a limit of {limit:.0f} is set" if limit is not None and at_limit else f"the most seen was {most:.0f}"
    return Finding(
        says=f"{device} was busy {used:.0%} of the time with {queue:.1f} operations in its queue: {seen:.0f} "
        f"operations a second ({against}), {bytes_text(seen_bytes)}/s written.",
        why="More is asked of the disk than it gives.",
        severity=Severity.WARNING if stall else Severity.ADVICE,
        evidence={
            "device": device,
            "busy_share": round(used, 2),
            "queue": round(queue, 1),
            "operations_per_s": round(seen),
            "capability_per_s": round(limit if limit is not None and at_limit else most),
            "write_bytes_per_s": round(seen_bytes),
        },
        remedy="Look who asks for it (the causes beside this one); then a disk that does more.",
        fixes=(Fix(kind="manual", name=f"disk {device}", needs=Needs.PERSON),),
        risk="Money.",
        verify="disk.busy_ms falls below nine tenths of the time.",
        confidence=0.6,
        ruled_out=("one slow operation at a time: operations queued",),
        series=(f"disk.busy_ms/{device}", f"disk.queue_ms/{device}", f"disk.writes/{device}"),
    )


def _limit(recording: Recording) -> float | None:
    """Operations per second that the server's control group may do."""
    fact = recording.facts.find("host.cgroup_write_iops")
    return float(fact.value) if fact is not None and isinstance(fact.value, int | float) and fact.value else None


def _example(*, full: bool) -> Example:
    """In the stall the device is full, or a tenth busy."""
    example = Example()
    example.level("disk.busy_ms/vda", 300, during=1000 if full else 100, unit="ms/s", role="disk_busy_ms")
    example.level("disk.queue_ms/vda", 500, during=30000 if full else 100, unit="ms/s")
    example.level("disk.reads/vda", 50, during=50)
    example.level("disk.writes/vda", 900, during=3000 if full else 100)
    example.level("disk.write_bytes/vda", 1e7, during=1e8 if full else 1e6, unit="B/s", role="disk_write_bytes")
    return example


DIAGNOSIS = Diagnosis(
    id="disk-saturated",
    title="The disk under the data does all that it can",
    check=check,
    source="How to tune write performance (Percona, 2012)",
    bad=lambda: _example(full=True),
    good=lambda: _example(full=False),
    symptom=True,
)
