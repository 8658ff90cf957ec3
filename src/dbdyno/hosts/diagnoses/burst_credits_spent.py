"""burst-credits-spent: the disk's burst is over

What is seen: the disk stands at one rate for long, then falls to a much lower one and stays there, busy still, with
operations that take longer; throughput falls with it and does not come back.

Why it happens: small cloud disks give more than their baseline while credits last. Credits last C / (demand − baseline)
seconds and fill again only while less than the baseline is asked for.

Remedy: size the disk for its baseline; run benchmarks past the end of the burst.

Cost: money.

Rivals: a load that merely asks for less (then the disk is no longer busy); a checkpoint (it ends).

References: an article on databases on ZFS (Percona, 2021): 3500 to 1100 operations a second after about 3000 s;
"Performance of Various EBS Storage Types in AWS" (Percona, 2021).
"""

from __future__ import annotations

import numpy as np

from dbdyno.hosts.diagnoses._disk import busy, data_device, operations
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.facts import MissingFact
from dbdyno.model.finding import Finding, Fix, Needs
from dbdyno.model.recording import Recording, Series, Stall, StallKind
from dbdyno.model.units import seconds_text

_STEP = 0.7
"""What is left after the step."""
_FLAT = 0.15
"""A rate that a limit holds varies less than this."""
_BUSY = 0.7
"""The device has work this share of the time: clients that wait for its answers leave it idle between them."""
_SLOWER = 1.5
"""Times as long as before that an operation takes, unless the device has work all of the time."""
_ALWAYS_BUSY = 0.9
_SECONDS_MIN = 20.0


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is None or stall.kind is not StallKind.DEGRADED:
        return None
    device = data_device(recording)
    rate, used = operations(recording, device), busy(recording, device)
    before, after = rate.before(stall, max(60.0, stall.start_s)), rate.during(stall)
    busy_share = used.during(stall).median()
    if stall.seconds < _SECONDS_MIN or after.median() > _STEP * before.median() or busy_share < _BUSY:
        return None
    queue = recording.series("disk", "queue_ms", device)
    took_ms = queue.during(stall).median() / max(after.median(), 1e-9)
    usual_ms = queue.before(stall, max(60.0, stall.start_s)).median() / max(before.median(), 1e-9)
    if _spread(after) > _FLAT or (busy_share < _ALWAYS_BUSY and took_ms < _SLOWER * usual_ms):
        return None
    burst, baseline = before.median(), after.median()
    started_s = _started(rate, burst)
    lasted_s = stall.start_s - started_s
    credits = (burst - baseline) * lasted_s
    return Finding(
        says=f"{device} fell from {burst:.0f} to {baseline:.0f} operations a second at {stall.start_s:.0f} s and "
        f"stayed there, busy {busy_share:.0%} of the time; an operation took {took_ms:.2g} ms, before {usual_ms:.2g}.",
        why=f"A burst of {credits:,.0f} operations above the baseline lasted {seconds_text(lasted_s)} and is spent; a "
        f"full one lasts as long again at this demand, and fills in {seconds_text(credits / baseline)} of rest.",
        evidence={
            "burst_per_s": round(burst),
            "baseline_per_s": round(baseline),
            "lasted_s": round(lasted_s),
            "credits": round(credits),
            "operation_ms": round(took_ms, 2),
            "operation_ms_before": round(usual_ms, 2),
            "predicted_s": round(credits / (burst - baseline)),
        },
        remedy=f"A disk whose baseline is {burst:.0f} operations a second.",
        fixes=(Fix(kind="manual", name=f"disk {device}", value=f"{burst:.0f}/s", needs=Needs.PERSON),),
        risk="Money.",
        verify="A run longer than the burst keeps its throughput.",
        confidence=0.85,
        ruled_out=(
            f"a load that asks for less: the disk was busy {busy_share:.0%} of the time",
            "a checkpoint: the rate did not come back",
        ),
        series=(f"disk.writes/{device}", f"disk.reads/{device}", f"disk.busy_ms/{device}", f"disk.queue_ms/{device}"),
    )


def _spread(series: Series) -> float:
    """Distance of the quartiles over the median."""
    middle = series.median()
    return (series.quantile(0.75) - series.quantile(0.25)) / middle if middle > 0 else float("inf")


def _started(rate: Series, burst: float) -> float:
    """When the demand of the burst began."""
    high = np.flatnonzero(rate.values > 0.8 * burst)
    if not high.size:
        raise MissingFact(rate.name, "no burst in the record")
    return float(rate.t_s[high[0]])


def _example(*, spent: bool) -> Example:
    """From 60 s on 1100 operations a second instead of 3500; the disk busy, or idle for want of work."""
    example = Example(stall=(60, 120), kind=StallKind.DEGRADED, lowest_per_s=300)
    example.level("disk.writes/vda", 3500, during=1100)
    example.level("disk.reads/vda", 10)
    example.level("disk.busy_ms/vda", 980, during=1000 if spent else 300, unit="ms/s", role="disk_busy_ms")
    example.level("disk.queue_ms/vda", 3000, during=4000 if spent else 300, unit="ms/s")
    return example


DIAGNOSIS = Diagnosis(
    id="burst-credits-spent",
    title="The disk's burst is over",
    check=check,
    source="Performance of Various EBS Storage Types in AWS (Percona, 2021)",
    bad=lambda: _example(spent=True),
    good=lambda: _example(spent=False),
)
