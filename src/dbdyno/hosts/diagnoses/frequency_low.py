"""frequency-low: the processors run far below their speed

What is seen: while the processors are busy their frequency is well below what they reached elsewhere in the record, or
the governor is one that saves power.

Why it happens: a governor (powersave, ondemand) raises the frequency late or not at all; heat or a power limit lowers
it.

Remedy: the governor `performance`; with heat or power as the cause, the machine's firmware settings and cooling.

Cost: power.

Rivals: stolen time; a clock that is shown constant by a virtual machine (then nothing can be said).

References: an article on Linux tuning for databases (Percona, 2013): 1200 MHz instead of 2.40 GHz.
"""

from __future__ import annotations

from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Fix, Severity
from dbdyno.model.recording import Recording, Stall

_SLOW = 0.75
_BUSY = 0.5
_PATH = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    mhz = recording.series("frequency", "mean_mhz")
    best = mhz.max()
    seen = (mhz.during(stall, slack_s=2.5) if stall else mhz).median()
    idle, user = recording.role("cpu_idle_s"), recording.role("cpu_user_s")
    if stall is not None:
        idle, user = idle.during(stall), user.during(stall)
    busy = user.mean() / (user.mean() + idle.mean()) if user.mean() + idle.mean() > 0 else 0.0
    if seen >= _SLOW * best or busy < _BUSY:
        return None
    known = recording.facts.find("host.frequency_governor")
    governor = "" if known is None or known.unknown else str(known.value)
    fix = Fix(
        kind="sysfs",
        name=_PATH,
        value="performance",
        before=governor,
        live=f"echo performance | tee {_PATH}",
        fact="host.frequency_governor",
    )
    return Finding(
        says=f"The processors ran at {seen:.0f} MHz while busy; elsewhere in the record they reached {best:.0f}.",
        why=f"The governor is {governor!r}." if governor else "The governor is not known.",
        severity=Severity.WARNING if stall else Severity.ADVICE,
        evidence={"mhz": round(seen), "mhz_best": round(best), "busy_share": round(busy, 2), "governor": governor},
        remedy="Set the governor to performance." if governor != "performance" else "Look for heat and power limits.",
        fixes=() if governor == "performance" else (fix,),
        risk="Power.",
        verify="frequency.mean_mhz stays near its best while the processors are busy.",
        confidence=0.7,
        ruled_out=("processors with nothing to do: they were busy",),
        series=("frequency.mean_mhz", "cpu.user_s"),
    )


def _example(*, slow: bool) -> Example:
    """In the stall 1200 instead of 2400 MHz, or as ever."""
    example = Example(lowest_per_s=450)
    example.level("frequency.mean_mhz", 2400, during=1200 if slow else 2390, unit="MHz")
    example.level("cpu.user_s", 3, during=3.9, unit="s/s", role="cpu_user_s")
    example.level("cpu.idle_s", 1, during=0.1, unit="s/s", role="cpu_idle_s")
    example.fact("host.frequency_governor", "powersave")
    return example


DIAGNOSIS = Diagnosis(
    id="frequency-low",
    title="The processors run far below their speed",
    check=check,
    source="Linux performance tuning tips (Percona, 2013)",
    bad=lambda: _example(slow=True),
    good=lambda: _example(slow=False),
)
