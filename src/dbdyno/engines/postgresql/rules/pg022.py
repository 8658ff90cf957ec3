"""PG022: effective_cache_size misjudges the memory

What it checks: effective_cache_size is between 40 % and 100 % of the memory that the server may use.

Why it matters: The planner takes it for what both caches hold together. Too small a value makes it avoid indexes. It
takes no memory.

Remedy: Three quarters of the memory.

Risk: Plans change; watch the slowest queries.

References: Tuning PostgreSQL for sysbench-tpcc (Percona, 2018): 200 of 256 GB; PostgreSQL 15 manual, section 20.7
(2022)
"""

from dbdyno.engines.postgresql.memory import GIB, PAGE_BYTES, rounded_mib
from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    limit, told = facts.number("server.memory_limit_bytes"), facts.number("setting.effective_cache_size") * PAGE_BYTES
    if 0.4 <= told / limit <= 1.0:
        return None
    return Finding(
        says=f"effective_cache_size is {told / GIB:.1f} GiB on {limit / GIB:.1f} GiB of memory.",
        severity=Severity.ADVICE,
        fixes=(setting(facts, "effective_cache_size", rounded_mib(limit * 0.75) // PAGE_BYTES),),
    )


RULE = Rule(
    id="PG022",
    title="effective_cache_size tells what is cached",
    topic="planner",
    check=check,
    source="Tuning PostgreSQL for sysbench-tpcc (Percona, 2018); PostgreSQL 15 manual, 20.7 (2022)",
    good={"setting.effective_cache_size": 1572864, "server.memory_limit_bytes": 17179869184},
    bad={"setting.effective_cache_size": 16384, "server.memory_limit_bytes": 17179869184},
)
