"""processor-group-limit: the server's control group used up its share of the processors

What is seen: in the stall the group's quota was used up in most of its periods, and its programs stood still for the
rest of each; the machine itself may have idle processors.

Why it happens: a container or service has a processor limit (a quota for each period of usually 100 ms). Many
connections at once use it up in the first part of a period, and then all of them, whoever holds locks included, wait
for the next one.

Remedy: a larger quota, or none (shares divide processors only when they are scarce); fewer connections at work at once.

Cost: processors that others no longer have.

Rivals: other programs on the machine (they take time without a quota being used up); stolen time; a load that merely
needs all processors (then none is idle).

References: the kernel's Documentation/scheduler/sched-bwc.rst and Documentation/admin-guide/cgroup-v2.rst (2024).
"""

from __future__ import annotations

from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.facts import MissingFact
from dbdyno.model.finding import Finding, Fix, Needs, Severity
from dbdyno.model.recording import Recording, Series, Stall

_THROTTLED = 0.5
"""Share of the periods in which the quota was used up."""
_FACTOR = 1.5
"""Times the usual share, for a stall: a quota that is always used up bounds everything, and explains no single one."""
_PERIODS_MIN = 3.0
"""Per second: a group that hardly runs says nothing."""


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    groups = recording.keys("processor_group")
    recording.series("processor_group", "quota_cores")
    if not groups:
        return None
    group = groups[0]
    periods = recording.series("processor_group", "periods", group)
    throttled = recording.series("processor_group", "throttled_periods", group)
    share = _share(_inside(throttled, stall), _inside(periods, stall))
    usual = _share(throttled.outside(recording.stalls), periods.outside(recording.stalls)) if stall else 0.0
    if share < max(_THROTTLED, _FACTOR * usual):
        return None
    cores = _inside(recording.series("processor_group", "quota_cores", group), stall).min()
    held_s = _inside(recording.series("processor_group", "throttled_s", group), stall).mean()
    idle = _idle_cores(recording, stall)
    return Finding(
        says=f"The server's control group {group} may use {cores:g} processors, and had used them up in {share:.0%} of "
        f"its periods (usually {usual:.0%}).",
        why="For the rest of each period all its programs stood still, whoever held locks included.",
        severity=Severity.WARNING if stall else Severity.ADVICE,
        evidence={
            "quota_cores": round(cores, 2),
            "throttled_share": round(share, 3),
            "usual_share": round(usual, 3),
            "throttled_s_per_s": round(held_s, 2),
            "idle_cores": None if idle is None else round(idle, 2),
        },
        remedy="A larger quota, or shares instead of one; fewer connections at work at once.",
        fixes=(Fix(kind="service", name="CPUQuota", value=f"{200 * cores:.0f}%", needs=Needs.PERSON),),
        risk="Processors that others no longer have.",
        verify="processor_group.throttled_periods stays where it is.",
        confidence=0.85 if share >= _THROTTLED * 1.5 else 0.7,
        ruled_out=(
            "a machine that is too small: "
            + ("not known" if idle is None else f"{idle:.1f} of its processors were idle"),
        ),
        series=("processor_group.throttled_periods", "processor_group.periods", "processor_group.throttled_s"),
    )


def _inside(series: Series, stall: Stall | None) -> Series:
    return series if stall is None else series.during(stall)


def _share(throttled: Series, periods: Series) -> float:
    """0 where hardly anything ran; raises `MissingSeries` where nothing was recorded."""
    ran = periods.mean()
    return throttled.mean() / ran if ran >= _PERIODS_MIN else 0.0


def _idle_cores(recording: Recording, stall: Stall | None) -> float | None:
    try:
        return _inside(recording.role("cpu_idle_s"), stall).mean()
    except MissingFact:
        return None


def _example(*, held: bool) -> Example:
    """Two processors allowed; in the stall they are used up in nine of ten periods, or in none."""
    example = Example(lowest_per_s=200)
    example.level("processor_group.quota_cores/db", 2)
    example.level("processor_group.periods/db", 10)
    example.level("processor_group.throttled_periods/db", 0.2, during=9 if held else 0.2)
    example.level("processor_group.throttled_s/db", 0.01, during=3 if held else 0.01, unit="s/s")
    example.level("cpu.idle_s", 4, during=5, unit="s/s", role="cpu_idle_s")
    return example


DIAGNOSIS = Diagnosis(
    id="processor-group-limit",
    title="The server's control group used up its share of the processors",
    check=check,
    source="Linux kernel, Documentation/scheduler/sched-bwc.rst (2024)",
    bad=lambda: _example(held=True),
    good=lambda: _example(held=False),
)
