"""HOST093: the machine is set up with words that do nothing

What it checks: the kernel's command line has no `elevator=` on kernels since 5.0.

Why it matters: whoever reads it believes that the scheduler is chosen; it is not.

Remedy: take the word out; a rule of udev chooses the scheduler (see HOST030).

Risk: none.

References: `elevator=deadline` (2013, 2016) worked with single-queue disks, which Linux 5.0 (2019) removed. Kernel,
block/switching-sched.rst (2024).
"""

from dbdyno.hosts.rules._fixes import manual
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Needs, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    words = [word for word in facts.text("host.kernel_arguments").split() if word.startswith("elevator=")]
    if not words:
        return None
    return Finding(
        says=f"{words[0]} on the kernel's command line does nothing with this kernel.",
        severity=Severity.ADVICE,
        fixes=(manual(f"take {words[0]} off the kernel's command line", needs=Needs.REBOOT),),
        verify="cat /proc/cmdline after a reboot",
    )


RULE = Rule(
    id="HOST093",
    title="The kernel's command line says what holds",
    topic="surroundings",
    check=check,
    applies=lambda facts: facts.number("host.kernel_version") >= 5,
    source=cite("linux-2013", "kernel, block/switching-sched.rst (2024)"),
    good={"host.kernel_version": 6.001, "host.kernel_arguments": "ro quiet"},
    bad={"host.kernel_version": 6.001, "host.kernel_arguments": "ro quiet elevator=deadline"},
)
