"""HOST071: the server may start too few threads

What it checks: the limit on processes and threads of the server's user is at least 8192, and twice the connections.

Why it matters: each connection is a thread or a process in many servers; at the limit a connection fails with "cannot
fork" though there is memory.

Remedy: 64000 in the server's unit.

Risk: a runaway program of that user starts more before it is stopped.

References: 64000 (2016), "cannot fork" from limits (2016); setrlimit(2).
"""

from dbdyno.hosts.rules._fixes import limit as limit_fix
from dbdyno.hosts.rules._limits import threads_needed, threads_target
from dbdyno.hosts.rules._sizes import limit
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    now, _hard, _pid = limit(facts, "host.server.limit.nproc"), *map(facts.value, _READ)
    connections = facts.number("server.connections_max") if facts.has("server.connections_max") else 0.0
    need = threads_needed(facts)
    if now >= need:
        return None
    return Finding(
        says=f"The server's user may have {now:g} processes and threads, {need:g} are wanted.",
        severity=Severity.WARNING if now < connections else Severity.ADVICE,
        fixes=(limit_fix(facts, "nproc", str(threads_target(facts))),),
    )


_READ = ("host.server.limit.nproc_max", "host.server.pid")
RULE = Rule(
    id="HOST071",
    title="The server may start all the threads that it needs",
    topic="limits",
    check=check,
    source=cite("linux-2016", "setrlimit(2), Linux manual page (2024)"),
    good={"host.server.limit.nproc": 64000, "host.server.limit.nproc_max": 64000, "host.server.pid": 7},
    bad={"host.server.limit.nproc": 1024, "host.server.limit.nproc_max": 1024, "host.server.pid": 7},
)
