"""How much memory the settings of a server permit: what is there once, and what each connection may take.

Source: "Is 80% of RAM how you should tune your innodb_buffer_pool_size?" (Percona, undated, before MySQL 5.7): what
connections, the binary log's caches and the cluster's caches take is counted before the buffer pool gets its share;
MySQL 8.0 manual, "How MySQL Uses Memory" (2023).
"""

from __future__ import annotations

import re

from dbdyno.engines._mysql.units import number
from dbdyno.model.facts import Facts

MIB, GIB = 1 << 20, 1 << 30
SHARED = ("key_buffer_size", "aria_pagecache_buffer_size", "query_cache_size", "innodb_log_buffer_size",
          "innodb_additional_mem_pool_size", "rocksdb_block_cache_size", "rocksdb_db_write_buffer_size")  # fmt: skip
"""Caches that are there once, beside the buffer pool; not all exist everywhere."""
EACH = ("sort_buffer_size", "join_buffer_size", "read_buffer_size", "read_rnd_buffer_size", "thread_stack",
        "binlog_cache_size", "net_buffer_length")  # fmt: skip
"""Buffers that one statement of a connection takes, as a rule once each."""
USUAL = {"sort_buffer_size": 262144, "join_buffer_size": 262144, "read_buffer_size": 131072,
         "read_rnd_buffer_size": 262144}  # fmt: skip
"""Defaults of both vendors."""
BUFFER_BYTES_MAX = 8 * MIB
"""More than this for every connection is taken back by rule MY026."""
SYSTEM_PART = 0.05
SYSTEM_BYTES_MIN = 256 * MIB
"""What the program itself, its dictionary and the operating system take at least."""
POOL_PART_MIN = 0.25
"""Less of the memory than this is never advised for the cache: then it is the connections that are too many."""


def each_bytes(facts: Facts) -> float:
    """What one connection may take at a time. Raises `MissingFact`."""
    return sum(facts.number(f"setting.{name}") for name in EACH)


def connections_bytes(facts: Facts) -> float:
    return facts.number("setting.max_connections") * each_bytes(facts)


def _mended_connections_bytes(facts: Facts) -> float:
    """The same after rule MY026, which takes large buffers back: otherwise one advice would bring the next."""
    each = 0.0
    for name in EACH:
        size = facts.number(f"setting.{name}")
        each += USUAL[name] if name in USUAL and size > BUFFER_BYTES_MAX else size
    return facts.number("setting.max_connections") * each


def shared_bytes(facts: Facts) -> float:
    """Caches beside the buffer pool; those that the server does not have count nothing."""
    found = sum(facts.number(f"setting.{name}") for name in SHARED if facts.has(f"setting.{name}"))
    if facts.has("setting.wsrep_on") and facts.flag("setting.wsrep_on"):
        found += gcache_bytes(facts)
    return found


def gcache_bytes(facts: Facts) -> float:
    """The cluster's ring buffer is a file that is mapped into memory; its size stands among the provider's options."""
    if not facts.has("setting.wsrep_provider_options"):
        return 128 * MIB
    match = re.search(r"gcache\.size\s*=\s*(\w+)", facts.text("setting.wsrep_provider_options"))
    return (number(match[1]) or 0.0) if match else 128 * MIB


def system_bytes(limit_bytes: float) -> float:
    return max(SYSTEM_BYTES_MIN, limit_bytes * SYSTEM_PART)


def planned_bytes(facts: Facts) -> float:
    """All that the settings permit at a time. Raises `MissingFact`."""
    return facts.number("setting.innodb_buffer_pool_size") + shared_bytes(facts) + connections_bytes(facts)


def room_bytes(facts: Facts) -> float:
    """What the load leaves to the buffer pool, at least `POOL_PART_MIN` of the memory. A query cache counts nothing,
    since rule MY025 removes it. Raises `MissingFact`."""
    limit = facts.number("server.memory_limit_bytes")
    left = limit - system_bytes(limit) - shared_bytes(facts) - _mended_connections_bytes(facts)
    if facts.has("setting.query_cache_size"):
        left += facts.number("setting.query_cache_size")
    return max(left, limit * POOL_PART_MIN)


def rocksdb_leads(facts: Facts) -> bool:
    """Whether new tables go into the other engine, so that the memory is meant for that one's cache."""
    name = "setting.default_storage_engine"
    return facts.has(name) and facts.text(name).upper() == "ROCKSDB"


def pool_wanted_bytes(facts: Facts) -> float:
    """The buffer pool that rule INNO010 advises, or the present one where that will do. Raises `MissingFact`."""
    room, pool = room_bytes(facts), facts.number("setting.innodb_buffer_pool_size")
    data = facts.number("server.cluster_bytes")
    step = 128 * MIB if room > 2 * GIB else 8 * MIB
    least = 128 * MIB if room > 256 * MIB else room / 2
    wanted = max(min(room * 0.75, data * 1.25), least) // step * step
    if pool > room or (pool < min(room / 2, data) and wanted > pool):
        return wanted
    return pool


def pool_meant_bytes(facts: Facts) -> float:
    """The same where it can be told, else the present one: what other rules have to fit to."""
    needed = ("server.memory_limit_bytes", "server.cluster_bytes", "setting.max_connections")
    if rocksdb_leads(facts) or not all(facts.has(name) for name in (*needed, *(f"setting.{one}" for one in EACH))):
        return facts.number("setting.innodb_buffer_pool_size")
    return pool_wanted_bytes(facts)


def instances_meant(facts: Facts) -> float:
    """How many parts the pool should have: 8 from 8 GiB on, one where parts would be tiny, else as many as it has."""
    pool, parts = pool_meant_bytes(facts), facts.number("setting.innodb_buffer_pool_instances")
    if parts == 1 and pool >= 8 * GIB:
        return 8
    if parts > 1 and pool / parts < 128 * MIB:
        return 8 if pool >= 8 * GIB else 1
    return parts
