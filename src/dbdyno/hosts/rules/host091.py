"""HOST091: the choice of huge pages is gone after a reboot

What it checks: where transparent huge pages are not `always` now, nothing that a boot reads (the boot loader's
arguments, tmpfiles.d) makes them so.

Why it matters: as for every setting that was made by hand: it holds until the next reboot.

Remedy: take the word out of that file, or write `madvise` there.

Risk: none: nothing changes now.

References: the flag belongs on the kernel's command line and is to be verified after a reboot (2016, 2023); kernel,
admin-guide/mm/transhuge.rst. When no file sets it the kernel was built with what it has now, or a program set it
(tuned, a unit): that cannot be told from outside and passes.
"""

from dbdyno.hosts.rules._fixes import kernel_argument, sysfs
from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.tree import ABSENT
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

_PATH = "/sys/kernel/mm/transparent_hugepage/enabled"


def check(facts: Facts) -> Finding | None:
    now, later = facts.text("host.thp.enabled"), facts.text("host.boot.thp.enabled")
    if now == "always" or later != "always":
        return None
    return Finding(
        says=f"Transparent huge pages are {now} and will be {later} after a reboot.",
        severity=Severity.WARNING,
        fixes=(
            sysfs(_PATH, now, before=now, fact="host.thp.enabled"),
            kernel_argument("transparent_hugepage", now, before=later),
        ),
        verify="after a reboot cat /sys/kernel/mm/transparent_hugepage/enabled shows the same",
    )


RULE = Rule(
    id="HOST091",
    title="The choice of huge pages survives a reboot",
    topic="memory",
    check=check,
    applies=lambda facts: facts.value("host.thp.enabled") != ABSENT,
    source=cite("linux-2016", "basics-2023", "kernel, admin-guide/mm/transhuge.rst (2024)"),
    good={"host.thp.enabled": "madvise", "host.boot.thp.enabled": "absent"},
    bad={"host.thp.enabled": "madvise", "host.boot.thp.enabled": "always"},
)
