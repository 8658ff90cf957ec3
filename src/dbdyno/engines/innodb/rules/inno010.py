"""INNO010: The buffer pool does not fit what the load leaves

What it checks: innodb_buffer_pool_size fits in the memory that the system, the other caches and max_connections times
the buffers of a connection leave; and where the data is larger than the pool, the pool uses at least half of that.

Why it matters: too large a pool ends in swapping or in a killed server; too small a one reads from the disk what
memory could hold.

Remedy: three quarters of what is left, or all the data and a quarter more where that is less. Then grow it by
observation of free memory and swapping.

Risk: a change of the running pool takes time and locks shortly.

References: "Is 80% of RAM how you should tune your innodb_buffer_pool_size?" (Percona, undated, before MySQL 5.7): 80
% wastes memory on large machines and kills small ones; "InnoDB Performance Optimization Basics" (Percona, 2023): 70
to 80 % of the memory that is available. Resolved: no blind share of the memory, but a share of what the load leaves.
"""

from dbdyno.engines._mysql.memory import pool_wanted_bytes, rocksdb_leads, room_bytes
from dbdyno.engines._mysql.rules._setting import GIB, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    room, pool, wanted = room_bytes(facts), facts.number("setting.innodb_buffer_pool_size"), pool_wanted_bytes(facts)
    if wanted == pool:
        return None
    data = facts.number("server.cluster_bytes")
    return Finding(
        says=f"innodb_buffer_pool_size is {pool / GIB:.2f} GiB; the load leaves {room / GIB:.2f} GiB, the data has "
        f"{data / GIB:.2f} GiB.",
        severity=Severity.CRITICAL if pool > room else Severity.ADVICE,
        fixes=(setting(facts, "innodb_buffer_pool_size", int(wanted)),),
    )


RULE = Rule(
    id="INNO010",
    title="The buffer pool has what the load leaves",
    topic="memory",
    check=check,
    source=(
        "Is 80% of RAM how you should tune your innodb_buffer_pool_size? (Percona, before 2015); InnoDB "
        "Performance Optimization Basics (Percona, 2023)"
    ),
    applies=lambda facts: not rocksdb_leads(facts),
    good={
        "setting.innodb_buffer_pool_size": 8589934592,
        "setting.max_connections": 151,
        "setting.sort_buffer_size": 262144,
        "setting.join_buffer_size": 262144,
        "setting.read_buffer_size": 131072,
        "setting.read_rnd_buffer_size": 262144,
        "setting.thread_stack": 299008,
        "setting.binlog_cache_size": 32768,
        "setting.net_buffer_length": 16384,
        "server.memory_limit_bytes": 17179869184,
        "server.cluster_bytes": 107374182400,
    },
    bad={
        "setting.innodb_buffer_pool_size": 17179869184,
        "setting.max_connections": 151,
        "setting.sort_buffer_size": 262144,
        "setting.join_buffer_size": 262144,
        "setting.read_buffer_size": 131072,
        "setting.read_rnd_buffer_size": 262144,
        "setting.thread_stack": 299008,
        "setting.binlog_cache_size": 32768,
        "setting.net_buffer_length": 16384,
        "server.memory_limit_bytes": 17179869184,
        "server.cluster_bytes": 107374182400,
    },
)
