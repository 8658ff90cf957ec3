"""MONGO010: the cache takes too large a share of the memory

What it checks: WiredTiger's cache is not more than about 60 % of the memory that the server may use (its control
group's, where there is one).

Why it matters: the cache holds uncompressed pages; the file cache holds the compressed blocks in what is left. Taking
its memory makes disk reads of what was ten times faster, and ends in swap or in a killed server.

Remedy: Half of the memory beyond 1 GiB, the server's own default; less where other servers share the host.

Risk: a smaller cache evicts more; it can be changed while it runs, which takes a while.

References: MongoDB Tuning Anti-Patterns: How Tuning Memory Can Make Things Much Worse (Percona, 2021): half, 80 to 90
% is a mistake; MongoDB manual, WiredTiger Storage Engine (2024): half of the memory less 1 GiB. Both agree; between
half and 60 % nothing is said.
"""

from dbdyno.engines.wiredtiger.formulas import cache_default_bytes
from dbdyno.engines.wiredtiger.rules._setting import GIB, holds_data, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

_SIZE = "setting.storage.wiredTiger.engineConfig.cacheSizeGB"


def check(facts: Facts) -> Finding | None:
    limit = facts.number("server.memory_limit_bytes")
    chosen = facts.has(_SIZE)
    cache = facts.number(_SIZE) * GIB if chosen else facts.number("server.cache_bytes")
    wanted = cache_default_bytes(limit)
    if cache <= max(0.6 * limit, wanted):
        return None
    size = f"{int(wanted / GIB * 100) / 100:g}"
    return Finding(
        says=f"The cache is {cache / GIB:.1f} GiB, {cache / limit:.0%} of {limit / GIB:.1f} GiB of memory; "
        f"{size} GiB are the rule.",
        severity=Severity.CRITICAL if cache > 0.8 * limit else Severity.WARNING,
        fixes=(setting(facts, "storage.wiredTiger.engineConfig.cacheSizeGB", size),),
    )


RULE = Rule(
    id="MONGO010",
    title="The cache leaves memory to the file cache",
    topic="memory",
    check=check,
    source="MongoDB Tuning Anti-Patterns (Percona, 2021); MongoDB manual, WiredTiger Storage Engine (2024)",
    applies=holds_data,
    good={"server.role": "primary", "server.memory_limit_bytes": 17179869184, "server.cache_bytes": 8053063680},
    bad={"server.role": "primary", "server.memory_limit_bytes": 17179869184, _SIZE: "14"},
)
