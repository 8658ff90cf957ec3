"""HOST085: memory of many threads is served by the C library

What it checks: a server with 64 threads or more uses jemalloc, tcmalloc or mimalloc.

Why it matters: the C library keeps many arenas that rarely give memory back: the process grows over days beyond what
its settings take.

Remedy: LD_PRELOAD of jemalloc in the server's unit (or its own setting), then a restart.

Risk: some engines are built with an allocator of their own, which this cannot see: then this may be accepted.

References: jemalloc for a threaded server (2023). It speaks of a server with a thread for each connection; a server
with a process for each has few threads and is not concerned.
"""

from dbdyno.hosts.rules._fixes import manual
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Needs, Severity
from dbdyno.model.rule import Rule

_THREADS = 64


def check(facts: Facts) -> Finding | None:
    threads, allocator = facts.number("host.server.threads"), facts.text("host.server.allocator")
    if threads < _THREADS or allocator not in ("libc", "musl"):
        return None
    return Finding(
        says=f"{threads:g} threads share the C library's memory allocator.",
        severity=Severity.ADVICE,
        confidence=0.7,
        fixes=(manual("LD_PRELOAD of jemalloc in the server's unit", needs=Needs.RESTART),),
        verify="grep jemalloc /proc/<server>/maps",
    )


RULE = Rule(
    id="HOST085",
    title="The server's memory is served by an allocator for threads",
    topic="memory",
    check=check,
    source=cite("basics-2023"),
    good={"host.server.threads": 120, "host.server.allocator": "jemalloc"},
    bad={"host.server.threads": 120, "host.server.allocator": "libc"},
)
