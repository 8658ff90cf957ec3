"""HOST056: the firewall's table of connections is nearly full

What it checks: net.netfilter.nf_conntrack_count is below 80 percent of nf_conntrack_max, where connections are
tracked.

Why it matters: when it is full the firewall drops packets of new connections; clients see timeouts and the server
nothing at all.

Remedy: double nf_conntrack_max until it fits, or do not track the server's port.

Risk: some 300 bytes of kernel memory for each entry.

References: kernel, networking/nf_conntrack-sysctl.rst (2024).
"""

from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.rules._sysctl import Wanted, there
from dbdyno.model.fact import Scalar
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

_SHARE = 0.8
_MAX, _COUNT = "net.netfilter.nf_conntrack_max", "net.netfilter.nf_conntrack_count"


def _concerned(facts: Facts) -> bool:
    return there(_MAX, _COUNT)(facts)


def _fits(facts: Facts, value: Scalar) -> bool:
    return not _concerned(facts) or facts.number(f"host.sysctl.{_COUNT}") < _SHARE * float(str(value))


def _target(facts: Facts) -> int:
    most = max(65536, int(facts.number(f"host.sysctl.{_MAX}")))
    while facts.number(f"host.sysctl.{_COUNT}") > most / 2:
        most *= 2
    return most


WANTED = (Wanted(_MAX, _fits, _target),)


def check(facts: Facts) -> Finding | None:
    most, used = facts.number(f"host.sysctl.{_MAX}"), facts.number(f"host.sysctl.{_COUNT}")
    if _fits(facts, most):
        return None
    return Finding(
        says=f"The firewall tracks {used:g} of at most {most:g} connections.",
        severity=Severity.WARNING,
        fixes=(WANTED[0].fix(facts),),
    )


RULE = Rule(
    id="HOST056",
    title="The firewall has room for more connections",
    topic="network",
    check=check,
    applies=_concerned,
    source=cite("kernel, networking/nf_conntrack-sysctl.rst (2024)"),
    good={f"host.sysctl.{_MAX}": 262144, f"host.sysctl.{_COUNT}": 320},
    bad={f"host.sysctl.{_MAX}": 65536, f"host.sysctl.{_COUNT}": 64000},
)
