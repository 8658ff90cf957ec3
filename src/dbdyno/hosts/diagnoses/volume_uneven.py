"""volume-uneven: the disk takes much longer for an operation though no more is asked of it

What is seen: in the stall each operation of the disk takes several times as long as before, while it does fewer of
them, of no larger size and with no more cache flushes.

Why it happens: the medium is shared, or moves data by itself: volumes of a cloud are promised a mean, not every
second, and with few operations at once nothing evens that out. A device may also collect its garbage, or be failing.

Remedy: a kind of volume that promises latency; more operations at once (more threads, reading ahead), which evens it
out; look at the device's error counters.

Cost: money; more threads at once wait for each other elsewhere.

Rivals: more that is asked for (then operations or bytes rise); cache flushes (they are counted); a burst that is over
(then the rate stands at one lower value for good); a group's limit (what it holds back does not reach the device).

References: "Performance of Various EBS Storage Types in AWS" (Percona, 2021): uneven from second to second with 4 to 16
threads on general-purpose volumes, even on provisioned ones.
"""

from __future__ import annotations

from dbdyno.hosts.diagnoses._disk import data_device, operations
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.facts import MissingFact
from dbdyno.model.finding import Finding, Fix, Needs
from dbdyno.model.recording import Recording, Series, Stall, StallKind

_SLOWER = 5.0
_OPERATION_MS_MIN = 5.0
"""Below this a stall has another cause."""
_MORE = 1.2
"""Times what was asked before: up to this it is no more."""
_BUSY_MS_PER_S = 500.0
_RARE_PER_S = 5.0
"""Fewer operations than this say nothing about one of them."""


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    device = data_device(recording)
    rate, queue = operations(recording, device), recording.series("disk", "queue_ms", device)
    used = recording.series("disk", "busy_ms", device)
    reads, writes = (recording.series("disk", name, device) for name in ("read_bytes", "write_bytes"))
    moved = Series(writes.name, writes.t_s, reads.values + writes.values, "B/s", writes.seconds)
    if stall is None or stall.kind is not StallKind.DIP:
        return None
    done, usual = rate.during(stall).mean(), rate.before(stall).median()
    if min(done, usual) < _RARE_PER_S or used.during(stall).mean() < _BUSY_MS_PER_S:
        return None
    took_ms, usual_ms = queue.during(stall).mean() / done, queue.before(stall).median() / usual
    size, usual_size = moved.during(stall).mean() / done, moved.before(stall).median() / usual
    waiting, usual_waiting = queue.during(stall).mean() / 1e3, queue.before(stall).median() / 1e3
    if took_ms < _OPERATION_MS_MIN or took_ms < _SLOWER * usual_ms:
        return None
    if done > usual or size > _MORE * usual_size or _more_flushes(recording, device, stall):
        return None
    return Finding(
        says=f"An operation of {device} took {took_ms:.1f} ms, before {usual_ms:.2g}, though it did {done:.0f} a "
        f"second instead of {usual:.0f}, of no larger size.",
        why="The device (or what it shares its medium with) became slower by itself.",
        evidence={
            "device": device,
            "operation_ms": round(took_ms, 2),
            "operation_ms_before": round(usual_ms, 2),
            "operations_per_s": round(done),
            "operations_per_s_before": round(usual),
            "queue": round(waiting, 1),
            "queue_before": round(usual_waiting, 1),
        },
        remedy="A kind of volume that promises latency; more operations at once; look at the device's error counters.",
        fixes=(Fix(kind="manual", name=f"disk {device}", needs=Needs.PERSON),),
        risk="Money.",
        verify=f"An operation takes about {usual_ms:.2g} ms in every second.",
        confidence=0.65,
        ruled_out=(
            f"more that is asked for: {done:.0f} operations a second instead of {usual:.0f}, of no larger size",
            "cache flushes: no more of them than before",
        ),
        series=(f"disk.queue_ms/{device}", f"disk.busy_ms/{device}", rate.name, writes.name),
    )


def _more_flushes(recording: Recording, device: str, stall: Stall) -> bool:
    """False where the kernel does not count them."""
    try:
        flushes = recording.series("disk", "flushes", device)
        return flushes.during(stall).mean() > _MORE * flushes.before(stall).median() + 1
    except MissingFact:
        return False


def _example(*, uneven: bool) -> Example:
    """In the stall an operation takes 20 ms instead of 1; or as long, with ten times as many."""
    example = Example(lowest_per_s=100)
    example.level("disk.busy_ms/vda", 700, during=1000, unit="ms/s", role="disk_busy_ms")
    example.level("disk.queue_ms/vda", 900, during=4000 if uneven else 40000, unit="ms/s")
    example.level("disk.reads/vda", 100, during=20 if uneven else 100)
    example.level("disk.writes/vda", 800, during=180 if uneven else 8000)
    example.level("disk.read_bytes/vda", 1.6e6, during=3.2e5 if uneven else 1.6e6, unit="B/s")
    example.level("disk.write_bytes/vda", 1.3e7, during=2.8e6 if uneven else 1.3e8, unit="B/s")
    example.level("disk.flushes/vda", 50, during=20)
    return example


DIAGNOSIS = Diagnosis(
    id="volume-uneven",
    title="The disk became slower by itself",
    check=check,
    source="Performance of Various EBS Storage Types in AWS (Percona, 2021)",
    bad=lambda: _example(uneven=True),
    good=lambda: _example(uneven=False),
    symptom=True,
)
