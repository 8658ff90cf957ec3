"""PG020: The share of shared_buffers does not fit the memory

What it checks: shared_buffers is at most three quarters of the memory that the server may use, and at least a tenth of
it where the data is larger than the cache.

Why it matters: Too much leaves nothing for connections, sorts and the kernel's cache, and ends in swapping or in a
killed server. Far too little sends every page through the kernel, although there is memory.

Remedy: A quarter of the memory. Where the hot set fits, measure up to three quarters.

Risk: A restart. A larger cache makes checkpoints heavier.

References: Tuning PostgreSQL for sysbench-tpcc (Percona, 2018): three quarters when the hot set fits, much less when
it does not, and fixed rules are hardly ideal; PostgreSQL 15 manual, section 20.4 (2022): a quarter, seldom more than
40 %. Both agree on a quarter as the beginning where nothing was measured.
"""

from dbdyno.engines.postgresql.memory import CACHE_PART_MAX, GIB, PAGE_BYTES, cache_bytes, cache_wanted_bytes
from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    limit, cache = facts.number("server.memory_limit_bytes"), cache_bytes(facts)
    data, wanted = facts.number("server.cluster_bytes"), cache_wanted_bytes(facts)
    if wanted == cache:
        return None
    part = cache / limit
    return Finding(
        says=f"shared_buffers is {cache / GIB:.2f} GiB, {part:.0%} of {limit / GIB:.1f} GiB of memory; the data has "
        f"{data / GIB:.1f} GiB.",
        severity=Severity.CRITICAL if part > CACHE_PART_MAX else Severity.ADVICE,
        fixes=(setting(facts, "shared_buffers", int(wanted) // PAGE_BYTES),),
    )


RULE = Rule(
    id="PG020",
    title="shared_buffers has a sensible share of the memory",
    topic="memory",
    check=check,
    source="Tuning PostgreSQL for sysbench-tpcc (Percona, 2018); PostgreSQL 15 manual, 20.4 (2022)",
    good={
        "setting.shared_buffers": 524288,
        "server.memory_limit_bytes": 17179869184,
        "server.cluster_bytes": 53687091200,
    },
    bad={
        "setting.shared_buffers": 16384,
        "server.memory_limit_bytes": 17179869184,
        "server.cluster_bytes": 53687091200,
    },
)
