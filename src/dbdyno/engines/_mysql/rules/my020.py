"""MY020: The settings may take more memory than there is

What it checks: caches and max_connections times the buffers of a connection fit into the memory that the server may
use.

Why it matters: when all connections come, the server swaps or is killed, and then all of them are gone.

Remedy: fewer connections behind a pool, or smaller buffers; the cache is the subject of another rule.

Risk: clients beyond the limit are refused; with a pool in front they wait.

References: "Is 80% of RAM how you should tune your innodb_buffer_pool_size?" (Percona, undated); MySQL 8.0 manual,
8.12.3.1 (2023). Not every connection takes every buffer: the sum is a bound and no forecast.
"""

from dbdyno.engines._mysql.memory import POOL_PART_MIN, connections_bytes, each_bytes, shared_bytes, system_bytes
from dbdyno.engines._mysql.rules._setting import GIB, MIB, by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    limit = facts.number("server.memory_limit_bytes")
    connections, shared = connections_bytes(facts), shared_bytes(facts)
    if connections + shared + system_bytes(limit) <= limit * (1 - POOL_PART_MIN):
        return None
    return Finding(
        says=f"{facts.number('setting.max_connections'):.0f} connections of {each_bytes(facts) / MIB:.1f} MiB and "
        f"{shared / GIB:.2f} GiB of other caches, beside the buffer pool, of {limit / GIB:.1f} GiB of memory.",
        fixes=(by_hand("max_connections", "SET GLOBAL max_connections = …; -- and a pool of connections in front"),),
    )


RULE = Rule(
    id="MY020",
    title="Memory suffices for all connections",
    topic="memory",
    check=check,
    source=(
        "Is 80% of RAM how you should tune your innodb_buffer_pool_size? (Percona, before 2015); MySQL 8.0 "
        "manual, 8.12.3.1 (2023)"
    ),
    good={
        "setting.max_connections": 151,
        "setting.sort_buffer_size": 262144,
        "setting.join_buffer_size": 262144,
        "setting.read_buffer_size": 131072,
        "setting.read_rnd_buffer_size": 262144,
        "setting.thread_stack": 299008,
        "setting.binlog_cache_size": 32768,
        "setting.net_buffer_length": 16384,
        "server.memory_limit_bytes": 17179869184,
    },
    bad={
        "setting.max_connections": 5000,
        "setting.sort_buffer_size": 33554432,
        "setting.join_buffer_size": 262144,
        "setting.read_buffer_size": 131072,
        "setting.read_rnd_buffer_size": 262144,
        "setting.thread_stack": 299008,
        "setting.binlog_cache_size": 32768,
        "setting.net_buffer_length": 16384,
        "server.memory_limit_bytes": 17179869184,
    },
)
