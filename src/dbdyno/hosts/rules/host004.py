"""HOST004: the kernel's periodic writing is off or rare

What it checks: vm.dirty_writeback_centisecs is not 0 and at most 1500; vm.dirty_expire_centisecs is at most 6000.

Why it matters: the first wakes the threads that write old data, the second says what is old. With 0, or with minutes,
everything gathers until a limit stops all writers (laptop tools set such values to let a disk sleep).

Remedy: go back to the kernel's own 500 and 3000.

Risk: none for a server; a disk that should sleep wakes up.

References: kernel, admin-guide/sysctl/vm.rst; the stalls are those of the article of 2013.
"""

from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.rules._sysctl import Wanted, at_most
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

WANTED = (
    Wanted("vm.dirty_writeback_centisecs", lambda _, value: 0 < float(str(value)) <= 1500, lambda _: 500),
    at_most("vm.dirty_expire_centisecs", 6000, 3000),
)


def check(facts: Facts) -> Finding | None:
    values = {wanted: facts.number(wanted.fact) for wanted in WANTED}
    wrong = [wanted for wanted, value in values.items() if not wanted.fits(facts, value)]
    if not wrong:
        return None
    what = ", ".join(f"{wanted.key} is {values[wanted]:g}" for wanted in wrong)
    return Finding(
        says=f"{what}: unwritten data gathers until writers are stopped.",
        severity=Severity.WARNING,
        fixes=tuple(wanted.fix(facts) for wanted in wrong),
    )


RULE = Rule(
    id="HOST004",
    title="Old data is written regularly",
    topic="memory",
    check=check,
    source=cite("swap-2013", "kernel, admin-guide/sysctl/vm.rst (2024)"),
    good={"host.sysctl.vm.dirty_writeback_centisecs": 500, "host.sysctl.vm.dirty_expire_centisecs": 3000},
    bad={"host.sysctl.vm.dirty_writeback_centisecs": 0, "host.sysctl.vm.dirty_expire_centisecs": 3000},
)
