"""HOST052: dead connections are noticed after hours

What it checks: net.ipv4.tcp_keepalive_time is at most 600 seconds, and the probes after it take at most 5 minutes.

Why it matters: the kernel's two hours are longer than routers and balancers remember a quiet connection: they drop
it, the server keeps it with its locks and its memory, the client hangs.

Remedy: 120 seconds, then 6 probes every 30.

Risk: a few packets on quiet connections. Only sockets that ask for it are probed (servers do).

References: 120 and 30 (2016); kernel, networking/ip-sysctl.rst (2024). Some servers have settings of their own, which
win.
"""

from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.rules._sysctl import at_most
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

_TCP = "net.ipv4.tcp_keepalive"
WANTED = (at_most(f"{_TCP}_time", 600, 120), at_most(f"{_TCP}_intvl", 75, 30), at_most(f"{_TCP}_probes", 9, 6))


def check(facts: Facts) -> Finding | None:
    values = [facts.number(wanted.fact) for wanted in WANTED]
    wrong = [wanted for wanted, value in zip(WANTED, values, strict=True) if not wanted.fits(facts, value)]
    if not wrong:
        return None
    idle, interval, probes = values
    return Finding(
        says=f"A dead connection is noticed after {idle + interval * probes:g} seconds.",
        severity=Severity.ADVICE,
        fixes=tuple(wanted.fix(facts) for wanted in wrong),
    )


RULE = Rule(
    id="HOST052",
    title="Dead connections are noticed within minutes",
    topic="network",
    check=check,
    source=cite("linux-2016", "kernel, networking/ip-sysctl.rst (2024)"),
    good={f"host.sysctl.{_TCP}_time": 120, f"host.sysctl.{_TCP}_intvl": 75, f"host.sysctl.{_TCP}_probes": 9},
    bad={f"host.sysctl.{_TCP}_time": 7200, f"host.sysctl.{_TCP}_intvl": 75, f"host.sysctl.{_TCP}_probes": 9},
)
