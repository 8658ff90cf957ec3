"""HOST001: swappiness makes the kernel swap the server out

What it checks: vm.swappiness is 1 to 10 where there is swap space on a disk; never 0 on a kernel since 3.5, and not
the stock 60.

Why it matters: a high value lets the kernel swap out the server's memory to keep files in its cache, which a server
with a cache of its own pays for with stalls. With 0 a newer kernel does not swap at all until memory is exhausted,
and then it kills the largest process, which is the server.

Remedy: set it to 1. Where the machine also runs other programs that should rather be swapped out, 10 is as good.

Risk: none known for 1 to 10.

References: articles of 2013 say 0, those of 2016 and 2023 say 1: the later ones are right since Linux 3.5 (2012),
where 0 came to mean "never" (RHEL's 2.6.32-303 has that change too; it was repaired in -642). On kernels before 3.5 0
and 1 act alike, so 0 passes there. Compressed swap in memory (zram) wants high values and is left alone. Kernel,
admin-guide/sysctl/vm.rst.
"""

from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.rules._sysctl import Wanted
from dbdyno.model.fact import Scalar
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

MOST = 10
_KERNEL_WITH_STRICT_ZERO = 3.005


def _fits(facts: Facts, value: Scalar) -> bool:
    least = 1 if facts.number("host.kernel_version") >= _KERNEL_WITH_STRICT_ZERO else 0
    return least <= float(str(value)) <= MOST


WANTED = (Wanted("vm.swappiness", _fits, lambda _: 1),)


def check(facts: Facts) -> Finding | None:
    value, fits = facts.number("host.sysctl.vm.swappiness"), _fits(facts, facts.value("host.sysctl.vm.swappiness"))
    if fits:
        return None
    if value == 0:
        says = "vm.swappiness is 0: this kernel kills the largest process rather than swap."
        return Finding(says=says, severity=Severity.WARNING, fixes=(WANTED[0].fix(facts),))
    says = f"vm.swappiness is {value:g}: the kernel swaps the server out to keep files in its cache."
    return Finding(says=says, severity=Severity.ADVICE, fixes=(WANTED[0].fix(facts),))


RULE = Rule(
    id="HOST001",
    title="The kernel swaps a server out only when it must",
    topic="memory",
    check=check,
    applies=lambda facts: facts.number("host.swap_devices") > 0 and not facts.flag("host.zram_swap"),
    source=cite("linux-2016", "swap-2013", "basics-2023", "kernel, admin-guide/sysctl/vm.rst (2024)"),
    good={
        "host.sysctl.vm.swappiness": 1,
        "host.kernel_version": 6.001,
        "host.swap_devices": 1,
        "host.zram_swap": False,
    },
    bad={
        "host.sysctl.vm.swappiness": 60,
        "host.kernel_version": 6.001,
        "host.swap_devices": 1,
        "host.zram_swap": False,
    },
)
