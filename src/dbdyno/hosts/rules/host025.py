"""HOST025: a processor quota holds the server back

What it checks: the server's control group was throttled in less than 5 percent of its periods.

Why it matters: a quota is spent by all threads together in the first milliseconds of a period; then everything stands
still for the rest of it, with locks held: stalls of up to 100 ms that no counter of the server explains.

Remedy: raise or lift the quota (cpu.max, CPUQuota=, the container's limit), or give whole processors (cpuset).

Risk: other groups get less.

References: kernel, scheduler/sched-bwc.rst (2024).
"""

from dbdyno.hosts.rules._fixes import manual
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

_MOST = 0.05


def check(facts: Facts) -> Finding | None:
    share, cores = facts.number("host.group.throttled_ratio"), facts.value("host.cgroup_cores")
    if share < _MOST:
        return None
    return Finding(
        says=f"The server was held back in {share:.0%} of the periods; its quota is {cores} processors.",
        severity=Severity.WARNING,
        fixes=(manual("raise or lift the processor quota"),),
        verify="nr_throttled in the group's cpu.stat no longer grows",
    )


RULE = Rule(
    id="HOST025",
    title="No quota holds the server back",
    topic="processor",
    check=check,
    source=cite("kernel, scheduler/sched-bwc.rst (2024)"),
    good={"host.group.throttled_ratio": 0.0, "host.cgroup_cores": "no limit"},
    bad={"host.group.throttled_ratio": 0.4, "host.cgroup_cores": 1.5},
)
