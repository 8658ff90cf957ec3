"""MYR005: The share of the block cache does not fit

What it checks: where RocksDB is the default engine, rocksdb_block_cache_size is between 5 % and 60 % of the memory
that the server may use.

Why it matters: too small a cache reads and unpacks blocks again and again; too large a one leaves nothing for
memtables, connections and the compressed files in the cache of the kernel.

Remedy: a third of the memory to begin with.

Risk: a restart in older versions.

References: MariaDB manual, MyRocks and Block Cache (2024): about half where it is the only engine with direct I/O;
the default of 512 MiB fits small machines only.
"""

from dbdyno.engines._mysql.rules._setting import GIB, MIB, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    cache, limit = facts.number("setting.rocksdb_block_cache_size"), facts.number("server.memory_limit_bytes")
    if 0.05 * limit <= cache <= 0.6 * limit:
        return None
    return Finding(
        says=f"The block cache of {cache / GIB:.2f} GiB is {cache / limit:.0%} of {limit / GIB:.1f} GiB of memory.",
        severity=Severity.CRITICAL if cache > 0.6 * limit else Severity.ADVICE,
        fixes=(setting(facts, "rocksdb_block_cache_size", max(int(limit / 3) // (64 * MIB), 1) * 64 * MIB),),
    )


RULE = Rule(
    id="MYR005",
    title="The block cache has a sensible share",
    topic="memory",
    check=check,
    source="MariaDB manual, MyRocks System Variables (2024)",
    applies=lambda facts: facts.text("setting.default_storage_engine").upper() == "ROCKSDB",
    good={
        "setting.default_storage_engine": "ROCKSDB",
        "setting.rocksdb_block_cache_size": 4294967296,
        "server.memory_limit_bytes": 17179869184,
    },
    bad={
        "setting.default_storage_engine": "ROCKSDB",
        "setting.rocksdb_block_cache_size": 16106127360,
        "server.memory_limit_bytes": 17179869184,
    },
)
