"""clock-step: the wall clock was set while the record ran

What is seen: the wall clock moved against the monotonic one.

Why it happens: a time service that starts late, two of them at once, a virtual machine that was paused or moved.

Remedy: one time service, which slews small errors and steps only at the start; not both the hypervisor's tools and NTP.

Cost: none.

Rivals: a slow drift (it moves the clock by less than a second).

References: "Tuning Linux" (Percona, 2016): run a time service, and one source of time.
"""

from __future__ import annotations

from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Fix, Needs
from dbdyno.model.recording import Recording, Stall

_STEP_S = 1.5
"""The kernel gives whole seconds: less may be rounding."""


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is not None:
        return None
    boot = recording.role("boot_unix_s")
    step_s = boot.max() - boot.min()
    if step_s < _STEP_S:
        return None
    steps = [event for event in recording.events if event.kind == "clock_step"]
    at_s = steps[0].t_s if steps else boot.peak_s()
    return Finding(
        says=f"The wall clock was set by {step_s:.0f} s at {at_s:.0f} s.",
        why="Times in logs before and after do not fit, and time-outs by the wall clock fired early or late.",
        evidence={"step_s": step_s, "at_s": at_s},
        remedy="One time service that slews; not both the hypervisor's and the machine's own.",
        fixes=(Fix(kind="service", name="time service", needs=Needs.PERSON),),
        risk="",
        verify="boot.boot_unix_s does not move.",
        confidence=0.95,
        ruled_out=("a slow drift: it moved at once",),
        start_s=at_s,
        end_s=at_s,
        series=("boot.boot_unix_s",),
    )


def _example(*, stepped: bool) -> Example:
    """At 60 s the clock is set forward by 30 s, or not."""
    example = Example(stall=None)
    example.curve("boot.boot_unix_s", lambda t: 1.7e9 + (30.0 if stepped else 0.0) * (t > 60), role="boot_unix_s")
    return example


DIAGNOSIS = Diagnosis(
    id="clock-step",
    title="The wall clock was set while the record ran",
    check=check,
    source="Tuning Linux (Percona, 2016)",
    bad=lambda: _example(stepped=True),
    good=lambda: _example(stepped=False),
)
