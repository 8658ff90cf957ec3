"""HOST055: tables of connections overflowed

What it checks: since the boot fewer than 100 connections were dropped because a program did not accept them in time.

Why it matters: each of them came back a second or more later, or gave up: clients saw it as a slow or failed connect.

Remedy: a longer queue (the server's own backlog setting and net.core.somaxconn), connections that are kept open, or a
pooler. Any program on the machine counts here, so look first whose queue it is (ss -ltn, Recv-Q against Send-Q).

Risk: none in looking.

References: slow accept and short backlogs: article of 2016; kernel, networking/snmp_counter.rst (2024).
"""

from dbdyno.hosts.rules._fixes import manual
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

_MOST = 100


def check(facts: Facts) -> Finding | None:
    dropped = facts.number("host.listen_overflows")
    if dropped < _MOST:
        return None
    return Finding(
        says=f"{dropped:g} connections were dropped since the boot because nobody accepted them in time.",
        severity=Severity.WARNING,
        fixes=(manual("a longer backlog of the server, or a pooler"),),
        verify="nstat -az TcpExtListenOverflows no longer grows",
    )


RULE = Rule(
    id="HOST055",
    title="Connections are accepted in time",
    topic="network",
    check=check,
    source=cite("linux-2016", "kernel, networking/snmp_counter.rst (2024)"),
    good={"host.listen_overflows": 0},
    bad={"host.listen_overflows": 5317},
)
