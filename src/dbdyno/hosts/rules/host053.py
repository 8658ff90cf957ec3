"""HOST053: connections behind one address are refused at random

What it checks: net.ipv4.tcp_tw_recycle is 0, on kernels that have it.

Why it matters: with it the kernel drops new connections whose time stamps go back, as those of several clients behind
one address translation do.

Remedy: 0.

Risk: more closed connections are remembered for a minute, which costs little memory.

References: many tuning guides of before 2017 advise 1; the kernel removed it in 4.12 (2017) because it breaks address
translation. tcp(7).
"""

from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.rules._sysctl import exactly, judge, there
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

WANTED = (exactly("net.ipv4.tcp_tw_recycle", 0),)


def check(facts: Facts) -> Finding | None:
    says = "net.ipv4.tcp_tw_recycle is {value}: clients behind one address are refused at random."
    return judge(facts, WANTED[0], says, Severity.WARNING)


RULE = Rule(
    id="HOST053",
    title="Closed connections are not recycled too early",
    topic="network",
    check=check,
    applies=there("net.ipv4.tcp_tw_recycle"),
    source=cite("tcp(7), Linux manual page (2017)"),
    good={"host.sysctl.net.ipv4.tcp_tw_recycle": 0},
    bad={"host.sysctl.net.ipv4.tcp_tw_recycle": 1},
)
