"""HOST014: processes were killed for want of memory

What it checks: the kernel killed nothing for want of memory since the boot, neither on the machine nor in the
server's control group.

Why it matters: it happened, so it will again: the sum of what runs here does not fit.

Remedy: read the kernel's log (journalctl -k, dmesg) for what was killed and what took the memory; then make the sum
fit.

Risk: none in looking.

References: article of 2023 on memory and swap; proc(5); kernel, admin-guide/cgroup-v2.rst.
"""

from dbdyno.hosts.rules._fixes import manual
from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.tree import ABSENT
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    machine, group = facts.value("host.oom_kills"), facts.number("host.group.kills")
    everywhere = group if machine == ABSENT else max(group, facts.number("host.oom_kills"))
    if everywhere == 0:
        return None
    return Finding(
        says=f"Processes killed for want of memory: {everywhere:.0f}; in the server's group: {group:.0f}.",
        severity=Severity.CRITICAL if group else Severity.WARNING,
        fixes=(manual("find in the kernel's log what was killed and why"),),
        verify="grep oom_kill /proc/vmstat stays as it is",
    )


RULE = Rule(
    id="HOST014",
    title="Nothing was killed for want of memory",
    topic="memory",
    check=check,
    source=cite("basics-2023", "proc(5), Linux manual page (2024)"),
    good={"host.oom_kills": 0, "host.group.kills": 0},
    bad={"host.oom_kills": 3, "host.group.kills": 1},
)
