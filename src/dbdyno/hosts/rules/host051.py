"""HOST051: the queue of half-open connections is short

What it checks: net.ipv4.tcp_max_syn_backlog is at least 1024 on machines with 1 GiB of memory or more.

Why it matters: when it is full, new connections are answered by cookies (which lose options) or not at all.

Remedy: 4096.

Risk: some hundred bytes of memory for each.

References: 4096 (2016); the kernel sizes it by memory, kernel, networking/ip-sysctl.rst (2024), so larger values
pass.
"""

from dbdyno.hosts.rules._sizes import GIB
from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.rules._sysctl import at_least, judge
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule

WANTED = (at_least("net.ipv4.tcp_max_syn_backlog", 1024, 4096),)


def check(facts: Facts) -> Finding | None:
    return judge(facts, WANTED[0], "At most {value} connections may be half open.")


RULE = Rule(
    id="HOST051",
    title="Many connections may be half open",
    topic="network",
    check=check,
    applies=lambda facts: facts.number("host.mem.memory_bytes") >= GIB,
    source=cite("linux-2016", "kernel, networking/ip-sysctl.rst (2024)"),
    good={"host.sysctl.net.ipv4.tcp_max_syn_backlog": 2048, "host.mem.memory_bytes": 8 * GIB},
    bad={"host.sysctl.net.ipv4.tcp_max_syn_backlog": 256, "host.mem.memory_bytes": 8 * GIB},
)
