"""volume-rate-flat: the disk moves the same number of bytes (or operations) a second whatever waits for it

What is seen: for long the disk is busy, and its rate stands at one value while its queue becomes longer and shorter.

Why it happens: a volume of a cloud (or a controller, or a link) gives so much and no more. Operations above that wait;
their time follows from the queue, not from the medium.

Remedy: a volume with more provisioned bytes (or operations); more memory, so that less is read; data and log on
volumes of their own.

Cost: money.

Rivals: a burst that is over (there the rate falls by a step, here it was never higher); a group's limit (it is known,
and not the volume's); a load that asks for the same always (then the queue does not change either).

References: an article on long reports with Spark (Percona, 2016): a host that stood at about 120 MB/s;
"Performance of Various EBS Storage Types in AWS" (Percona, 2021).
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dbdyno.hosts.diagnoses._disk import busy, data_device, operations
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Fix, Needs, Severity
from dbdyno.model.recording import Floats, Recording, Series, Stall
from dbdyno.model.units import bytes_text

Mask: TypeAlias = npt.NDArray[np.bool_]

_SECONDS_MIN = 30.0
_FLAT = 0.04
"""Distance of the ninth decile from the first, over the median: what a limit holds hardly varies."""
_HIGHER = 1.15
"""Times the value at which it stands that was never passed: else a burst was over, or a cache full."""
_HIGHEST = 0.98
"""Quantile that stands for the most: one second alone may be an error of the clock."""
_QUEUE = 2.0
_VARIES = 1.5
"""The queue's ninth decile over its first: more or less is asked for."""
_BUSY_MS_PER_S = 900.0
_LIMIT_NEAR = 0.8


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    device = data_device(recording)
    used, rate = busy(recording, device), operations(recording, device)
    queue = recording.series("disk", "queue_ms", device)
    reads, writes = (recording.series("disk", name, device) for name in ("read_bytes", "write_bytes"))
    moved = Series(writes.name, writes.t_s, reads.values + writes.values, "B/s", writes.seconds)
    if stall is not None:
        return None  # It bounds everything always, and explains no single stall.
    full = (used.values * 1e3 >= _BUSY_MS_PER_S) & (queue.values >= _QUEUE * 1e3)
    seconds = float(used.seconds[full].sum())
    if seconds < _SECONDS_MIN or _varies(queue.values[full]) < _VARIES:
        return None
    bytes_flat, rate_flat = _stands(moved, full), _stands(rate, full)
    if not (bytes_flat or rate_flat) or _group_limit(recording, rate.where(full).median()):
        return None
    by_bytes, per_s = moved.where(full).median(), rate.where(full).median()
    stands = f"{bytes_text(by_bytes)}/s" if bytes_flat else f"{per_s:.0f} operations a second"
    low, high = (queue.where(full).quantile(share) / 1e3 for share in (0.1, 0.9))
    return Finding(
        says=f"{device} stood at {stands} for {seconds:.0f} s, whether {low:.0f} or {high:.0f} operations waited.",
        why="A rate that does not follow the queue is a limit of the volume or of the way to it.",
        severity=Severity.ADVICE,
        evidence={
            "device": device,
            "bytes_per_s": round(by_bytes),
            "operations_per_s": round(per_s),
            "seconds": round(seconds),
            "queue_low": round(low, 1),
            "queue_high": round(high, 1),
        },
        remedy="A volume with more provisioned; more memory, so that less is read.",
        fixes=(Fix(kind="manual", name=f"disk {device}", value=f"more than {stands}", needs=Needs.PERSON),),
        risk="Money.",
        verify="The rate rises, or the queue is shorter at the same rate.",
        confidence=0.65,
        ruled_out=(
            "a load that asks for the same always: the queue varied",
            "a burst that is over: the rate was never higher",
        ),
        series=(f"disk.busy_ms/{device}", f"disk.queue_ms/{device}", writes.name, rate.name),
    )


def _stands(series: Series, full: Mask) -> bool:
    """Whether it stood at one value while the disk was full, and never went higher."""
    return _spread(series.values[full]) <= _FLAT and series.quantile(_HIGHEST) <= _HIGHER * series.where(full).median()


def _spread(values: Floats) -> float:
    there = values[np.isfinite(values)]
    middle = float(np.median(there)) if there.size else 0.0
    return float(np.quantile(there, 0.9) - np.quantile(there, 0.1)) / middle if middle > 0 else float("inf")


def _varies(values: Floats) -> float:
    there = values[np.isfinite(values)]
    return float(np.quantile(there, 0.9) / np.quantile(there, 0.1)) if there.size else 0.0


def _group_limit(recording: Recording, per_s: float) -> bool:
    """Whether it is the limit of the server's control group that is seen."""
    fact = recording.facts.find("host.cgroup_write_iops")
    known = fact is not None and isinstance(fact.value, int | float) and fact.value > 0
    return known and fact is not None and per_s >= _LIMIT_NEAR * float(fact.value or 0)


def _example(*, flat: bool) -> Example:
    """120 MB/s while 4 to 12 operations wait; or as many bytes as are waited for."""
    example = Example(stall=None)
    example.level("disk.busy_ms/vda", 990, unit="ms/s", role="disk_busy_ms")
    example.curve("disk.queue_ms/vda", lambda t: 8000 + 4000 * np.sin(t / 7), unit="ms/s")
    example.curve("disk.reads/vda", lambda t: 900 + (0 if flat else 300) * np.sin(t / 7))
    example.level("disk.writes/vda", 20)
    example.curve("disk.read_bytes/vda", lambda t: 1.15e8 + (0 if flat else 4e7) * np.sin(t / 7), unit="B/s")
    example.level("disk.write_bytes/vda", 5e6, unit="B/s", role="disk_write_bytes")
    return example


DIAGNOSIS = Diagnosis(
    id="volume-rate-flat",
    title="The disk stands at one rate, whatever waits for it",
    check=check,
    source="Performance of Various EBS Storage Types in AWS (Percona, 2021)",
    bad=lambda: _example(flat=True),
    good=lambda: _example(flat=False),
    symptom=True,
)
