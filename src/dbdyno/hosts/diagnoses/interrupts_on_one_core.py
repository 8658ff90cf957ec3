"""interrupts-on-one-core: one core serves all network interrupts

What is seen: one core spends nearly all its time in deferred interrupts while others are idle; throughput stops there
however many clients there are.

Why it happens: packets of one queue (an overlay network, a card without several queues, a virtual pair) are handled by
the core that takes its interrupt.

Remedy: spread the work: more queues (ethtool -L), receive packet steering (rps_cpus), or another way through the
network than the overlay.

Cost: a little processor time for the spreading.

Rivals: processors that are busy everywhere.

References: "Testing Docker multi-host network performance" (Percona, 2016): one core in ksoftirqd at 43 % of the
throughput.
"""

from __future__ import annotations

from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Fix, Needs, Severity
from dbdyno.model.recording import Recording, Stall

_FULL = 0.7
_OTHERS_IDLE = 0.3
_CORES_MIN = 2


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    recording.series("cores", "softirq_s")
    load: dict[str, float] = {}
    idle: dict[str, float] = {}
    for core in recording.keys("cores"):
        soft, rest = recording.series("cores", "softirq_s", core), recording.series("cores", "idle_s", core)
        load[core] = (soft.during(stall) if stall else soft).mean()
        idle[core] = (rest.during(stall) if stall else rest).mean()
    if len(load) < _CORES_MIN:
        return None
    worst = max(load, key=lambda core: load[core])
    others = [idle[core] for core in idle if core != worst]
    room = sum(others) / len(others)
    if load[worst] < _FULL or room < _OTHERS_IDLE:
        return None
    return Finding(
        says=f"{worst} spent {load[worst]:.0%} of its time in interrupts while the others were {room:.0%} idle.",
        why="All packets of a queue are handled by one core.",
        severity=Severity.WARNING,
        evidence={"core": worst, "softirq_share": round(load[worst], 2), "others_idle": round(room, 2)},
        remedy="Spread the interrupts over the cores.",
        fixes=(
            Fix(
                kind="sysfs",
                name="/sys/class/net/<interface>/queues/rx-*/rps_cpus",
                value="all cores",
                live="for queue in /sys/class/net/<interface>/queues/rx-*/rps_cpus; do echo ff > $queue; done",
                needs=Needs.PERSON,
            ),
        ),
        risk="Packets may be handled on a core away from their program.",
        verify="cores.softirq_s is even.",
        confidence=0.9,
        ruled_out=("processors that are busy everywhere: the others had time",),
        start_s=stall.start_s if stall else 0.0,
        end_s=stall.end_s if stall else recording.duration_s,
        series=(f"cores.softirq_s/{worst}", "cores.idle_s"),
    )


def _example(*, one: bool) -> Example:
    """Four cores; in the stall one is full of interrupts, or all are half."""
    example = Example(lowest_per_s=430)
    for number in range(4):
        soft = 0.95 if one and number == 0 else 0.05 if one else 0.5
        example.level(f"cores.softirq_s/cpu{number}", 0.02, during=soft, unit="s/s")
        example.level(f"cores.idle_s/cpu{number}", 0.4, during=0.01 if one and number == 0 else 0.5, unit="s/s")
    return example


DIAGNOSIS = Diagnosis(
    id="interrupts-on-one-core",
    title="One core serves all network interrupts",
    check=check,
    source="Testing Docker multi-host network performance (Percona, 2016)",
    bad=lambda: _example(one=True),
    good=lambda: _example(one=False),
)
