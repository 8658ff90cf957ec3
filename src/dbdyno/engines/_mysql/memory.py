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
    """What the load leaves to the buffer pool, at least `POOL_PART_MIN` of the memory. Raises `MissingFact`."""
    limit = facts.number("server.memory_limit_bytes")
    left = limit - system_bytes(limit) - shared_bytes(facts) - connections_bytes(facts)
    return max(left, limit * POOL_PART_MIN)
