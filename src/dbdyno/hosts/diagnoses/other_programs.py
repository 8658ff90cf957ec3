"""other-programs: other programs took the processors

What is seen: in the stall hardly any processor time was left, and most of it went neither to the server nor to the
driver, although it usually does.

Why it happens: a job beside the server (a compression, a report, a build) competes for the cores.

Remedy: move the job, or bound it (CPUQuota, CPUWeight, nice).

Cost: the job takes longer.

Rivals: the server's own work; stolen time.

References: systemd.resource-control(5) (2024).
"""

from __future__ import annotations

from collections.abc import Callable

from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Fix, Needs
from dbdyno.model.recording import Recording, Series, Stall

_USED = 0.9
_FOREIGN = 0.4
_MORE = 0.2
_STATES = ("user", "nice", "system")


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is None:
        return None
    cores = recording.series("cpu", "cores").last()
    foreign = _foreign(recording, lambda one: one.during(stall))
    usual = _foreign(recording, lambda one: one.outside(recording.stalls))
    idle = sum(recording.role(f"cpu_{state}_s").during(stall).mean() for state in ("idle", "iowait")) / cores
    if idle > 1 - _USED or foreign < _FOREIGN * cores or foreign - usual < _MORE * cores:
        return None
    return Finding(
        says=f"Other programs used {foreign:.1f} of {cores:.0f} processors in the stall, usually {usual:.1f}; "
        f"{max(idle, 0):.0%} were idle.",
        why="The server had to wait for a processor.",
        evidence={
            "foreign_processors": round(foreign, 2),
            "foreign_processors_usual": round(usual, 2),
            "idle_share": round(idle, 3),
            "cores": cores,
        },
        remedy="Move the other job, or bound it.",
        fixes=(Fix(kind="service", name="CPUQuota", value="50%", needs=Needs.PERSON),),
        risk="The job takes longer.",
        verify="The difference of cpu and process.cpu_s stays small.",
        confidence=0.7,
        ruled_out=("the server's own work: its share of the processors fell",),
        series=("cpu.user_s", "cpu.idle_s", "process.cpu_s"),
    )


def _foreign(recording: Recording, part: Callable[[Series], Series]) -> float:
    """Processors used by programs that are none of ours."""
    used = sum(part(recording.role(f"cpu_{state}_s")).mean() for state in _STATES)
    own = sum(part(recording.series("process", "cpu_s", who)).mean() for who in recording.keys("process"))
    if not recording.keys("process"):
        recording.series("process", "cpu_s").mean()
    return max(0.0, used - own)


def _example(*, foreign: bool) -> Example:
    """Four processors, full in the stall: of other programs, or of the server."""
    example = Example(lowest_per_s=300)
    example.curve("cpu.cores", lambda t: t * 0 + 4)
    example.level("cpu.user_s", 2, during=3.9, unit="s/s", role="cpu_user_s")
    example.level("cpu.nice_s", 0, unit="s/s", role="cpu_nice_s")
    example.level("cpu.system_s", 0.2, during=0.08, unit="s/s", role="cpu_system_s")
    example.level("cpu.idle_s", 1.8, during=0.02, unit="s/s", role="cpu_idle_s")
    example.level("cpu.iowait_s", 0, unit="s/s", role="cpu_iowait_s")
    example.level("process.cpu_s/server", 2.1, during=0.8 if foreign else 3.8, unit="s/s", role="process_cpu_s")
    return example


DIAGNOSIS = Diagnosis(
    id="other-programs",
    title="Other programs took the processors",
    check=check,
    source="systemd.resource-control(5) (2024)",
    bad=lambda: _example(foreign=True),
    good=lambda: _example(foreign=False),
)
