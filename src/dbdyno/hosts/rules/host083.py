"""HOST083: the kernel is old

What it checks: Linux 4.18 or later.

Why it matters: older kernels have single-queue disks, no pressure measures, slow resets of pages, and no repairs;
only vendors' kernels of a supported distribution are still mended.

Remedy: a supported release of the distribution.

Risk: a reboot, and whatever else a new release changes.

References: 3.x much faster than 2.6 (2016), the most recent kernel (2023). 3.10 as in RHEL 7 lost its maintenance in
June 2024 (Red Hat life cycle), 4.18 is that of RHEL 8.
"""

from dbdyno.hosts.rules._fixes import manual
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Needs, Severity
from dbdyno.model.rule import Rule

_LEAST = 4.018


def check(facts: Facts) -> Finding | None:
    version, name = facts.number("host.kernel_version"), facts.text("host.kernel")
    if version >= _LEAST:
        return None
    return Finding(
        says=f"The kernel is {name}.",
        severity=Severity.WARNING,
        fixes=(manual("a supported release of the distribution", needs=Needs.REBOOT),),
        verify="uname -r",
    )


RULE = Rule(
    id="HOST083",
    title="The kernel is one that is maintained",
    topic="surroundings",
    check=check,
    source=cite("linux-2016", "basics-2023"),
    good={"host.kernel_version": 6.001, "host.kernel": "6.1.0-31-amd64"},
    bad={"host.kernel_version": 3.010, "host.kernel": "3.10.0-1160.el7.x86_64"},
)
