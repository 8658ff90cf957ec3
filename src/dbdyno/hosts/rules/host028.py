"""HOST028: one processor serves all of the network

What it checks: where the network is busy (more than 10,000 interrupts a second between two readings) no processor
serves more than 80 percent of them.

Why it matters: that processor is full while the others wait for it: the throughput of the whole server is bounded by
it.

Remedy: irqbalance, more queues of the network card (ethtool -L), or receive packet steering (rps_cpus).

Risk: packets of one connection may be handled on several processors with a little more work.

References: one core full in ksoftirqd at 43 percent of the throughput, through an overlay network (2016). Kernel,
networking/scaling.rst.
"""

from dbdyno.hosts.rules._fixes import manual
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

_BUSY_PER_S, _SHARE = 10_000, 0.8


def check(facts: Facts) -> Finding | None:
    rate = facts.number("host.now.network_interrupts_per_s")
    share = facts.number("host.now.network_interrupts_ratio_max")
    if rate < _BUSY_PER_S or share <= _SHARE:
        return None
    return Finding(
        says=f"One processor serves {share:.0%} of {rate:.0f} network interrupts a second.",
        severity=Severity.WARNING,
        fixes=(manual("irqbalance, more queues (ethtool -L) or rps_cpus"),),
        verify="the columns of NET_RX in /proc/softirqs grow alike",
    )


RULE = Rule(
    id="HOST028",
    title="All processors serve the network",
    topic="network",
    check=check,
    applies=lambda facts: facts.number("host.cores") > 1,
    source=cite("docker-2016", "kernel, networking/scaling.rst (2024)"),
    good={"host.cores": 4, "host.now.network_interrupts_per_s": 50_000, "host.now.network_interrupts_ratio_max": 0.3},
    bad={"host.cores": 4, "host.now.network_interrupts_per_s": 50_000, "host.now.network_interrupts_ratio_max": 0.97},
)
