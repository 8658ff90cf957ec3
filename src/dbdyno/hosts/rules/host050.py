"""HOST050: the queue of new connections is short

What it checks: net.core.somaxconn is at least 1024.

Why it matters: connections that arrive together wait there to be accepted; what does not fit is dropped and comes
back a second later. It is also the most that a server can ask for, whatever its own setting says.

Remedy: 4096, the kernel's default since 5.4. The server takes it at its next start.

Risk: none known.

References: 4096 (2016); kernel, networking/ip-sysctl.rst: 128 before Linux 5.4 (2019), 4096 since.
"""

from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.rules._sysctl import at_least, judge
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule

WANTED = (at_least("net.core.somaxconn", 1024, 4096),)


def check(facts: Facts) -> Finding | None:
    return judge(facts, WANTED[0], "At most {value} new connections may wait to be accepted.")


RULE = Rule(
    id="HOST050",
    title="Many connections may arrive at once",
    topic="network",
    check=check,
    source=cite("linux-2016", "kernel, networking/ip-sysctl.rst (2024)"),
    good={"host.sysctl.net.core.somaxconn": 4096},
    bad={"host.sysctl.net.core.somaxconn": 128},
)
