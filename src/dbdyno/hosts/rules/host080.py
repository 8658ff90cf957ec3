"""HOST080: nobody sets the clock

What it checks: a program that keeps the clock right runs (chronyd, ntpd, systemd-timesyncd, ptp4l …).

Why it matters: replication, fail-over, expiry and every comparison of logs rest on clocks that agree; certificates
and tokens fail when they do not.

Remedy: one of them, on every machine of a cluster.

Risk: a clock that is far off jumps once.

References: on all members and not against the hypervisor's own tools (2016). Some hypervisors set the guest's clock
without a program in the guest: then this finding may be accepted.
"""

from dbdyno.hosts.rules._fixes import service
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if facts.text("host.time_daemons").split():
        return None
    inside = facts.value("host.group.limit_bytes") != "no limit"
    return Finding(
        says="No program that keeps the clock right is seen"
        + (" (in a container the host's is not seen)." if inside else "."),
        severity=Severity.ADVICE,
        confidence=0.5 if inside else 0.9,
        fixes=(service("systemd-timesyncd.service"),),
        verify="timedatectl shows the clock as synchronised",
    )


RULE = Rule(
    id="HOST080",
    title="The clock is kept right",
    topic="surroundings",
    check=check,
    source=cite("linux-2016"),
    good={"host.time_daemons": "chronyd"},
    bad={"host.time_daemons": "", "host.group.limit_bytes": "no limit"},
)
