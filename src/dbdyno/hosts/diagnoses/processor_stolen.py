"""processor-stolen: the hypervisor gave the processors to another machine

What is seen: in the stall a good part of the processors' time was stolen: wanted here, and given to somebody else.

Why it happens: the host under this virtual machine is oversubscribed, or the machine is of a burstable kind and has
used up its credits.

Remedy: another size or kind of machine, or another host.

Cost: money.

Rivals: other programs on this machine; the server's own work.

References: proc(5), field steal of /proc/stat (2024).
"""

from __future__ import annotations

from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Fix, Needs, Severity
from dbdyno.model.recording import Recording, Stall

_STOLEN = 0.15
_FACTOR = 2.0
_STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    stolen = _share(recording, stall, "steal")
    usual = _share_outside(recording, "steal")
    idle = _share(recording, stall, "idle") + _share(recording, stall, "iowait")
    if stolen < _STOLEN or (stall is not None and stolen < _FACTOR * usual):
        return None
    return Finding(
        says=f"{stolen:.0%} of the processors' time was stolen (usually {usual:.0%}).",
        why="This virtual machine wanted to run and was not let.",
        severity=Severity.WARNING,
        evidence={"stolen_share": round(stolen, 3), "usual_share": round(usual, 3), "idle_share": round(idle, 3)},
        remedy="Move the machine, or take one whose processors are its own.",
        fixes=(Fix(kind="manual", name="virtual machine", needs=Needs.PERSON),),
        risk="Money.",
        verify="cpu.steal_s stays near 0.",
        confidence=0.85 if stolen > 0.3 else 0.7,
        ruled_out=("other programs here: their time would be counted as used, not as stolen",),
        start_s=stall.start_s if stall else 0.0,
        end_s=stall.end_s if stall else recording.duration_s,
        series=("cpu.steal_s", "cpu.idle_s"),
    )


def _share(recording: Recording, stall: Stall | None, state: str) -> float:
    """Share of all processor time, 0 to 1."""
    total = 0.0
    for one in _STATES:
        series = recording.role(f"cpu_{one}_s")
        total += (series.during(stall, slack_s=0.5) if stall else series).mean()
    wanted = recording.role(f"cpu_{state}_s")
    return (wanted.during(stall, slack_s=0.5) if stall else wanted).mean() / total if total > 0 else 0.0


def _share_outside(recording: Recording, state: str) -> float:
    total = sum(recording.role(f"cpu_{one}_s").outside(recording.stalls).mean() for one in _STATES)
    return recording.role(f"cpu_{state}_s").outside(recording.stalls).mean() / total if total > 0 else 0.0


def _example(*, stolen: bool) -> Example:
    """Four processors; in the stall two of them are stolen, or busy."""
    example = Example(lowest_per_s=400)
    for state in _STATES:
        example.level(f"cpu.{state}_s", 0.01, unit="s/s", role=f"cpu_{state}_s")
    example.level("cpu.idle_s", 2, during=0.1, unit="s/s", role="cpu_idle_s")
    example.level("cpu.user_s", 2, during=1.8 if stolen else 3.8, unit="s/s", role="cpu_user_s")
    example.level("cpu.steal_s", 0.02, during=2 if stolen else 0.02, unit="s/s", role="cpu_steal_s")
    return example


DIAGNOSIS = Diagnosis(
    id="processor-stolen",
    title="The hypervisor gave the processors to another machine",
    check=check,
    source="proc(5), steal in /proc/stat (2024)",
    bad=lambda: _example(stolen=True),
    good=lambda: _example(stolen=False),
)
