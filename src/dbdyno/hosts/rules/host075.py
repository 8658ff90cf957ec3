"""HOST075: the server may map too few pieces of memory

What it checks: vm.max_map_count is at least the kernel's default of 65530, and twice the server's connections.

Why it matters: engines that map files, and allocators with many threads, need a mapping for each piece; at the limit
an allocation fails though there is memory.

Remedy: 262144.

Risk: none known.

References: kernel, admin-guide/sysctl/vm.rst (2024); manuals of engines that map files ask for twice the connections.
"""

from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.rules._sysctl import Wanted
from dbdyno.model.fact import Scalar
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

_KEY, _LEAST, _TARGET = "vm.max_map_count", 65530, 262144


def _need(facts: Facts) -> float:
    connections = facts.number("server.connections_max") if facts.has("server.connections_max") else 0.0
    return max(_LEAST, 2 * connections)


WANTED = (
    Wanted(_KEY, lambda facts, value: float(str(value)) >= _need(facts), lambda f: int(max(_TARGET, 2 * _need(f)))),
)


def check(facts: Facts) -> Finding | None:
    now: Scalar = facts.number(f"host.sysctl.{_KEY}")
    if WANTED[0].fits(facts, now):
        return None
    return Finding(
        says=f"A process may map {now:g} pieces of memory, {_need(facts):g} are wanted.",
        severity=Severity.WARNING,
        fixes=(WANTED[0].fix(facts),),
    )


RULE = Rule(
    id="HOST075",
    title="The server may map all the memory that it needs",
    topic="limits",
    check=check,
    source=cite("kernel, admin-guide/sysctl/vm.rst (2024)"),
    good={"host.sysctl.vm.max_map_count": 65530},
    bad={"host.sysctl.vm.max_map_count": 8192},
)
