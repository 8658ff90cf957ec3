"""HOST058: a flood of half-open connections shuts the server

What it checks: net.ipv4.tcp_syncookies is 1 (or 2).

Why it matters: without them anybody who can send packets fills the queue of half-open connections.

Remedy: 1, the kernel's default.

Risk: none: cookies are used only when the queue is full.

References: kernel, networking/ip-sysctl.rst (2024). Some tuning guides switch them off "for speed"; they cost
nothing.
"""

from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.rules._sysctl import exactly, judge, there
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

WANTED = (exactly("net.ipv4.tcp_syncookies", 1, 2),)


def check(facts: Facts) -> Finding | None:
    says = "net.ipv4.tcp_syncookies is {value}: a flood of half-open connections shuts the server."
    return judge(facts, WANTED[0], says, Severity.WARNING)


RULE = Rule(
    id="HOST058",
    title="A flood of half-open connections is survived",
    topic="security",
    check=check,
    applies=there("net.ipv4.tcp_syncookies"),
    source=cite("kernel, networking/ip-sysctl.rst (2024)"),
    good={"host.sysctl.net.ipv4.tcp_syncookies": 1},
    bad={"host.sysctl.net.ipv4.tcp_syncookies": 0},
)
