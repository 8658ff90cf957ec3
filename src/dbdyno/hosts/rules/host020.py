"""HOST020: a memory node empties its file cache rather than use its neighbour

What it checks: vm.zone_reclaim_mode is 0.

Why it matters: otherwise a processor whose own node is full throws away cached pages, or swaps, though the other node
has free memory: a server that fills most of memory then reads from the disk what it had.

Remedy: 0, the kernel's default since 3.16.

Risk: more accesses go to the other node, at half the speed of memory, which is still a thousand times faster than a
disk.

References: swapping with free memory on one node: articles of 2013 and 2016; kernel, admin-guide/sysctl/vm.rst.
"""

from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.rules._sysctl import exactly, judge, there
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

WANTED = (exactly("vm.zone_reclaim_mode", 0),)


def check(facts: Facts) -> Finding | None:
    says = "vm.zone_reclaim_mode is {value}: a full memory node drops its cache instead of using the other."
    return judge(facts, WANTED[0], says, Severity.WARNING)


RULE = Rule(
    id="HOST020",
    title="A full memory node uses its neighbour",
    topic="processor",
    check=check,
    applies=there("vm.zone_reclaim_mode"),
    source=cite("swap-2013", "linux-2016", "kernel, admin-guide/sysctl/vm.rst (2024)"),
    good={"host.sysctl.vm.zone_reclaim_mode": 0},
    bad={"host.sysctl.vm.zone_reclaim_mode": 1},
)
