"""HOST016: memory is short at this moment

What it checks: over the last minute something waited for memory in less than 10 percent of the time.

Why it matters: it is the kernel's own measure of lost time: programs stand still while it looks for a free page.

Remedy: find what takes the memory; lower the server's cache or the limit on unwritten data.

Risk: none in looking.

References: kernel, accounting/psi.rst (2018).
"""

from dbdyno.hosts.rules._fixes import manual
from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.tree import ABSENT
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

_MOST = 10.0


def check(facts: Facts) -> Finding | None:
    share = facts.number("host.pressure.memory_some_avg60")
    if share < _MOST:
        return None
    return Finding(
        says=f"In {share:g} percent of the last minute something waited for memory.",
        severity=Severity.WARNING,
        fixes=(manual("find what takes the memory"),),
        verify="cat /proc/pressure/memory",
    )


RULE = Rule(
    id="HOST016",
    title="Nothing waits for memory",
    topic="memory",
    check=check,
    applies=lambda facts: facts.value("host.pressure.memory_some_avg60") != ABSENT,
    source=cite("kernel, accounting/psi.rst (2018)"),
    good={"host.pressure.memory_some_avg60": 0.4},
    bad={"host.pressure.memory_some_avg60": 31.0},
)
