"""HOST012: the server is set to use more memory than it may

What it checks: what the server's settings may take (cache and connections) is at most 90 percent of what the machine,
or a limit of the control group if that is lower, gives it.

Why it matters: in a container the machine's memory means nothing: at the group's limit the kernel kills the server,
without a word in the server's log.

Remedy: make the server's cache or its number of connections smaller, or raise the limit.

Risk: a smaller cache reads more from the disk.

References: the article on memory anti-patterns of 2021; kernel, admin-guide/cgroup-v2.rst.
"""

from dbdyno.hosts.rules._fixes import manual
from dbdyno.hosts.rules._sizes import GIB, size
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

_SHARE = 0.9


def check(facts: Facts) -> Finding | None:
    planned, usable = facts.number("server.memory_planned_bytes"), facts.number("host.mem.usable_bytes")
    limited = facts.value("host.group.limit_bytes") != "no limit"
    if planned <= _SHARE * usable:
        return None
    of_what = "its control group's limit" if limited else "the machine's memory"
    return Finding(
        says=f"The server's settings may take {size(planned)}, {of_what} is {size(usable)}.",
        severity=Severity.CRITICAL if planned > usable and limited else Severity.WARNING,
        fixes=(manual("a smaller cache, fewer connections or a higher limit"),),
    )


RULE = Rule(
    id="HOST012",
    title="The server fits into the memory that it may use",
    topic="memory",
    check=check,
    source=cite("memory-2021", "kernel, admin-guide/cgroup-v2.rst (2024)"),
    good={
        "server.memory_planned_bytes": 6 * GIB,
        "host.mem.usable_bytes": 8 * GIB,
        "host.group.limit_bytes": "no limit",
    },
    bad={"server.memory_planned_bytes": 6 * GIB, "host.mem.usable_bytes": 2 * GIB, "host.group.limit_bytes": 2 * GIB},
)
