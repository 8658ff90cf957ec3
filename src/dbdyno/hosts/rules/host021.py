"""HOST021: the server's memory is not spread over the nodes

What it checks: on a machine with several memory nodes these are used alike (within 30 percent), or the server's
memory is interleaved.

Why it matters: one server fills the node on which it started; that node swaps or drops its cache while the others
have gigabytes free.

Remedy: start the server with its memory interleaved (its own setting, or `numactl --interleave=all` in its unit),
after the file cache was dropped, so that the cache does not unbalance it again.

Risk: a part of the accesses goes to the farther node. A restart is needed.

References: interleave, drop the cache, allocate at start: articles of 2013 and 2016. Switching NUMA off in the
firmware does the same for everything and is the worse way (2016). numa(7).
"""

from dbdyno.hosts.rules._fixes import manual
from dbdyno.hosts.rules._sizes import GIB, size
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Needs, Severity
from dbdyno.model.rule import Rule

_MOST = 0.3


def check(facts: Facts) -> Finding | None:
    gap, free = facts.number("host.numa_imbalance_ratio"), facts.number("host.numa_free_bytes_min")
    interleaved = facts.has("host.server.numa_policy") and facts.text("host.server.numa_policy") == "interleave"
    if gap <= _MOST or interleaved:
        return None
    return Finding(
        says=f"Memory nodes are filled unevenly, by {gap:.0%}; {size(free)} are free on the fullest.",
        severity=Severity.WARNING if free < GIB else Severity.ADVICE,
        fixes=(manual("start the server with numactl --interleave=all", needs=Needs.RESTART),),
        verify="numastat -p <server> shows about the same on all nodes",
    )


RULE = Rule(
    id="HOST021",
    title="Memory nodes are filled evenly",
    topic="processor",
    check=check,
    applies=lambda facts: facts.number("host.numa_nodes") > 1,
    source=cite("swap-2013", "linux-2016", "numa(7), Linux manual page (2024)"),
    good={"host.numa_nodes": 2, "host.numa_imbalance_ratio": 0.05, "host.numa_free_bytes_min": 4 * GIB},
    bad={"host.numa_nodes": 2, "host.numa_imbalance_ratio": 0.55, "host.numa_free_bytes_min": GIB // 4},
)
