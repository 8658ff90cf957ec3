"""HOST026: the hypervisor gives processor time to others

What it checks: between two readings less than 5 percent of the processors' time was stolen.

Why it matters: the machine stands still without knowing it; a lock that is held is held that much longer.

Remedy: another size or another host of the virtual machine; on burstable kinds the credits are spent.

Risk: none in looking. Costs, perhaps.

References: proc(5) on steal; burst credits: article of 2021.
"""

from dbdyno.hosts.rules._fixes import manual
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

_MOST = 0.05


def check(facts: Facts) -> Finding | None:
    share = facts.number("host.now.stolen_ratio")
    if share < _MOST:
        return None
    return Finding(
        says=f"{share:.0%} of the processors' time was given to other machines.",
        severity=Severity.WARNING,
        fixes=(manual("another size or host of the virtual machine"),),
        verify="vmstat shows st near 0",
    )


RULE = Rule(
    id="HOST026",
    title="The hypervisor leaves the processors to this machine",
    topic="processor",
    check=check,
    applies=lambda facts: facts.flag("host.virtual"),
    source=cite("ebs-2021", "proc(5), Linux manual page (2024)"),
    good={"host.virtual": True, "host.now.stolen_ratio": 0.0},
    bad={"host.virtual": True, "host.now.stolen_ratio": 0.2},
)
