"""A whole starting configuration of a server of the family: what the formula leaves to the owner, and versions as
people write them.

Sources: MySQL 8.0 manual, chapters 5.1.8 and 15.14 (2023); MariaDB manual, "Server System Variables" (2024); the rest
are the values that the rules ask for, so that an audit finds nothing to add.
"""

from __future__ import annotations

import re

from dbdyno.engines._mysql import versions
from dbdyno.engines._mysql.memory import system_bytes
from dbdyno.model.errors import UsageError
from dbdyno.model.knob import Assignment, Value
from dbdyno.model.machine import Machine

VERSION_DEFAULT = {"mariadb": "11.4", "mysql": "8.0.36"}
HEAD = ("[mysqld]",)
_MIB = 1 << 20
_EACH_BYTES = 1.5 * _MIB
"""What one connection may take with the default buffers of both vendors: sort, join, two for reads, stack, caches."""
_SHARED_BYTES = 400 * _MIB
"""Caches beside the pool with their defaults: keys, Aria, the log's buffer, dictionary, performance_schema."""

Settings = dict[str, tuple[Value, str]]


def version_of(words: str, product: str) -> tuple[int, str]:
    """`10.11`, `8.0.12` as this family counts, and in words. Raises `UsageError`."""
    match = re.fullmatch(r"(\d{1,2})\.(\d{1,2})(?:\.(\d{1,2}))?", words)
    if match is None:
        raise UsageError(f"{words!r} is no version of {product}.", todo="write it like 10.11 or 8.0.36")
    number = int(match[1]) * 10_000 + int(match[2]) * 100 + int(match[3] or 0)
    maria = product == "mariadb"
    if maria != (int(match[1]) >= 10 or number == 50_500):
        raise UsageError(f"There is no {product} {words}.", todo="see which of the two vendors it is")
    return number + (versions.MARIADB if maria else 0), f"{words} {'MariaDB' if maria else 'MySQL'}"


def settings(machine: Machine, version: int, chosen: Assignment) -> Settings:
    """What to add to the formula's settings (`chosen`), or to put in their place, each with its reason."""
    found: Settings = {
        "max_connections": (machine.connections, "as asked for; each may take more than a MiB at a time"),
        "thread_cache_size": (min(100, max(8, machine.connections // 2)), "threads of clients that left are kept"),
        "innodb_flush_log_at_trx_commit": (1, "each commit is on the disk: the contract at L3"),
        "innodb_doublewrite": ("ON", "a page torn by a loss of power can be repaired: the contract at L3"),
        "innodb_print_all_deadlocks": ("ON", "each deadlock is in the log, not only the last one"),
        "slow_query_log": ("ON", "what to look at first"),
        "long_query_time": (2, "seconds from which on a statement is slow; lower it while looking"),
        "local_infile": ("OFF", "a server cannot ask a client for its files"),
    }  # fmt: skip
    if chosen.get("log_bin") == "ON" and (keeping := _keeping(version)):
        found[keeping[0]] = (keeping[1], "a week of binary logs; more than the time between two full backups")
    if versions.is_mariadb(version):
        found["performance_schema"] = ("ON", "waits and statements can be seen; it costs some memory and percent")
    if (pool := chosen.get("innodb_buffer_pool_size")) is not None:
        room = machine.memory_bytes - system_bytes(machine.memory_bytes) - _SHARED_BYTES
        room -= machine.connections * _EACH_BYTES
        step = 128 * _MIB
        if float(pool) > room:
            least = int(machine.memory_bytes * 0.25)
            size = max(1, int(max(room, least)) // step) * step
            found["innodb_buffer_pool_size"] = (size, "what the connections leave, if all of them work at a time")
    return found


def _keeping(version: int) -> tuple[str, int] | None:
    """How long binary logs are kept where the vendor's default is for ever; None where it is a month."""
    maria = versions.is_mariadb(version)
    if maria and version - versions.MARIADB >= 100_601:
        return "binlog_expire_logs_seconds", 7 * 86_400
    return ("expire_logs_days", 7) if maria or version < 80_001 else None
