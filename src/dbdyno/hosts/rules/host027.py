"""HOST027: asking for the time is slow

What it checks: the kernel's clock is one that programs read without a system call (tsc, kvm-clock, arch_sys_counter,
hyperv_clocksource_tsc_page), or a better one is not offered.

Why it matters: servers ask for the time several times in every query. With hpet or acpi_pm that is a slow device each
time, with xen a system call.

Remedy: choose the better clock where the kernel offers it. If it was marked unstable at boot, find out why first.

Risk: a time stamp counter that is really unstable lets the time jump: the kernel's log would say so.

References: kernel, timers/timekeeping.rst; cloud vendors' guides advise tsc over xen.
"""

from dbdyno.hosts.rules._fixes import sysfs
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

_FAST = ("tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "timebase", "tod")
_PATH = "/sys/devices/system/clocksource/clocksource0/current_clocksource"


def check(facts: Facts) -> Finding | None:
    now, offered = facts.text("host.clocksource"), facts.text("host.clocksources").split()
    better = next((name for name in _FAST if name in offered), "")
    if now in _FAST or not better:
        return None
    return Finding(
        says=f"The kernel's clock is {now}, which is slow to read; {better} is there.",
        severity=Severity.WARNING,
        fixes=(sysfs(_PATH, better, before=now, fact="host.clocksource"),),
        verify=f"cat {_PATH} shows {better}",
    )


RULE = Rule(
    id="HOST027",
    title="Programs read the time fast",
    topic="processor",
    check=check,
    source=cite("kernel, timers/timekeeping.rst (2024)"),
    good={"host.clocksource": "tsc", "host.clocksources": "tsc hpet acpi_pm"},
    bad={"host.clocksource": "hpet", "host.clocksources": "tsc hpet acpi_pm"},
)
