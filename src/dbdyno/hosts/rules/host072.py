"""HOST072: the server may not lock its huge pages

What it checks: where the server wants huge pages, its limit on locked memory is at least its cache.

Why it matters: some ways to huge pages count as locked memory; at the limit the server falls back to small pages.

Remedy: unlimited, in the server's unit.

Risk: a server that locks more than there is starves the rest.

References: a database manual's section on huge pages (2024); getrlimit(2).
"""

from dbdyno.hosts.rules._fixes import limit as limit_fix
from dbdyno.hosts.rules._sizes import GIB, size
from dbdyno.hosts.rules._sizes import limit as limit_of
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    now, cache = limit_of(facts, "host.server.limit.memlock"), facts.number("server.cache_bytes")
    _read = [facts.value(name) for name in ("host.server.limit.memlock_max", "host.server.pid")]
    if now >= cache:
        return None
    return Finding(
        says=f"The server may lock {size(now)}; its cache of {size(cache)} shall be in huge pages.",
        severity=Severity.ADVICE,
        fixes=(limit_fix(facts, "memlock", "unlimited"),),
    )


_SERVER = {"host.server.pid": 7, "server.cache_bytes": 2 * GIB, "server.huge_pages_wanted": True}
RULE = Rule(
    id="HOST072",
    title="The server may lock its huge pages",
    topic="limits",
    check=check,
    applies=lambda facts: facts.flag("server.huge_pages_wanted"),
    source=cite("huge-pages", "getrlimit(2), Linux manual page (2024)"),
    good={**_SERVER, "host.server.limit.memlock": "unlimited", "host.server.limit.memlock_max": "unlimited"},
    bad={**_SERVER, "host.server.limit.memlock": 65536, "host.server.limit.memlock_max": 65536},
)
