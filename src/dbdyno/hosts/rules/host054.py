"""HOST054: connections that nobody owns are kept long

What it checks: net.ipv4.tcp_fin_timeout is at most 60 seconds, the kernel's default.

Why it matters: that long a closed connection waits for the other side to close too.

Remedy: 30.

Risk: a client on a very slow line gets a reset instead of an orderly end.

References: 30 "to recycle sockets" (2016). It does not shorten TIME_WAIT, as is often said, but FIN_WAIT_2 of
connections that no program holds any more; so the default passes and only longer values are a finding. Kernel,
networking/ip-sysctl.rst (2024).
"""

from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.rules._sysctl import at_most, judge
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule

WANTED = (at_most("net.ipv4.tcp_fin_timeout", 60, 30),)


def check(facts: Facts) -> Finding | None:
    return judge(facts, WANTED[0], "Half-closed connections are kept for {value} seconds.")


RULE = Rule(
    id="HOST054",
    title="Half-closed connections go soon",
    topic="network",
    check=check,
    source=cite("linux-2016", "kernel, networking/ip-sysctl.rst (2024)"),
    good={"host.sysctl.net.ipv4.tcp_fin_timeout": 60},
    bad={"host.sysctl.net.ipv4.tcp_fin_timeout": 300},
)
