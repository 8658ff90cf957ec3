"""HOST023: processors are clocked down between requests

What it checks: where the kernel governs the clock, the governor is `performance` or `schedutil`; `powersave` passes
with the drivers that mean something else by it (intel_pstate and amd-pstate-epp in their active mode).

Why it matters: `ondemand` and `conservative` raise the clock only after a while of load: short requests are served at
the lowest clock.

Remedy: `performance` on all processors, by a unit or the machine's tuning profile.

Risk: more power is used.

References: `ondemand` seen at 1200 of 2400 MHz (2013). Since then processors choose by themselves: their drivers call
that `powersave`, and it is fast enough to pass. Kernel, admin-guide/pm/cpufreq.rst and intel_pstate.rst.
"""

from dbdyno.hosts.rules._fixes import sysfs
from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.tree import ABSENT
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

_GOOD = {"performance", "schedutil"}
_DRIVERS = {"intel_pstate", "amd-pstate-epp", "amd_pstate_epp"}
_PATH = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"


def check(facts: Facts) -> Finding | None:
    now, driver = set(facts.text("host.governor").split(",")), facts.text("host.frequency_driver")
    good = _GOOD | ({"powersave"} if driver in _DRIVERS else set())
    offered = facts.text("host.governors").split()
    if now <= good:
        return None
    better = "performance" if "performance" in offered or not offered else "schedutil"
    return Finding(
        says=f"The processors' clock is governed by {', '.join(sorted(now - good))} ({driver}).",
        severity=Severity.WARNING,
        fixes=(sysfs(_PATH, better, before=sorted(now - good)[0], fact="host.governor"),),
        verify=f"cat {_PATH} shows {better}",
    )


RULE = Rule(
    id="HOST023",
    title="Processors run at full speed under short load",
    topic="processor",
    check=check,
    applies=lambda facts: facts.value("host.governor") != ABSENT,
    source=cite("linux-2013", "kernel, admin-guide/pm/cpufreq.rst (2024)"),
    good={"host.governor": "performance", "host.frequency_driver": "acpi-cpufreq",
          "host.governors": "performance ondemand powersave"},
    bad={"host.governor": "ondemand", "host.frequency_driver": "acpi-cpufreq",
         "host.governors": "performance ondemand powersave"},
)  # fmt: skip
