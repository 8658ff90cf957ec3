"""HOST022: the kernel moves the memory of an interleaved server about

What it checks: kernel.numa_balancing is 0 where there are several memory nodes and one server holds most of the
memory (a quarter or more).

Why it matters: it takes pages away to see who uses them, and moves them. For one process whose threads run everywhere
there is no better place: the faults are pure cost.

Remedy: 0.

Risk: other programs with a place of their own lose some speed.

References: kernel, admin-guide/sysctl/kernel.rst, which names the cost; no article of those collected measures it, so
this is advice only.
"""

from dbdyno.hosts.rules._sizes import GIB
from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.rules._sysctl import Wanted
from dbdyno.hosts.tree import ABSENT
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

_SHARE = 0.25


def _large(facts: Facts) -> bool:
    return facts.number("host.server.resident_bytes") >= _SHARE * facts.number("host.mem.memory_bytes")


def _concerned(facts: Facts) -> bool:
    return facts.number("host.numa_nodes") > 1 and facts.value("host.sysctl.kernel.numa_balancing") != ABSENT


WANTED = (
    Wanted(
        "kernel.numa_balancing", lambda f, value: str(value) == "0" or not (_concerned(f) and _large(f)), lambda _: 0
    ),
)


def check(facts: Facts) -> Finding | None:
    on, large = facts.number("host.sysctl.kernel.numa_balancing") != 0, _large(facts)
    if not on or not large:
        return None
    says = "kernel.numa_balancing is on: the kernel moves the memory of a server whose threads run on all nodes."
    return Finding(says=says, severity=Severity.ADVICE, fixes=(WANTED[0].fix(facts),))


RULE = Rule(
    id="HOST022",
    title="The server's memory stays where it is",
    topic="processor",
    check=check,
    applies=_concerned,
    source=cite("kernel, admin-guide/sysctl/kernel.rst (2024)"),
    good={"host.numa_nodes": 2, "host.sysctl.kernel.numa_balancing": 0, "host.server.resident_bytes": 40 * GIB,
          "host.mem.memory_bytes": 64 * GIB},
    bad={"host.numa_nodes": 2, "host.sysctl.kernel.numa_balancing": 1, "host.server.resident_bytes": 40 * GIB,
         "host.mem.memory_bytes": 64 * GIB},
)  # fmt: skip
