"""A whole configuration for a machine, each line with its reason.

Two kinds of server: a store (`workload` other than `cache`), whose keys must not vanish, and a cache.
Sources: Valkey manual, "Persistence", "Key eviction", "Replication", "Latency" (2024), and the comments of valkey.conf
8.0 (2024); "Valkey/Redis Configurations and Persistent Setting of the Key Parameters" (2024).
"""

from __future__ import annotations

from dbdyno.engines.valkey import versions
from dbdyno.model.knob import Advice, Value
from dbdyno.model.machine import Machine

MIB = 1 << 20
STORE_SHARE, CACHE_SHARE = 0.6, 0.75
"""Of the memory for data: a child that writes a snapshot may double the pages that are written meanwhile, and buffers
of clients and replicas come beside."""
_FILES_OF_ITS_OWN = 32


def advice(machine: Machine, version: int) -> list[Advice]:
    cache = machine.workload == "cache"
    chosen = {**_memory(machine, version, cache), **_persistence(version, cache), **_service(machine, version)}
    return [
        Advice(
            name="formula",
            title="A cache" if cache else "A store whose keys must not vanish",
            assignment={name: value for name, (value, _why) in chosen.items()},
            reasons={name: why for name, (_value, why) in chosen.items()},
            source="Valkey manual, Persistence, Key eviction, Replication (2024)",
        )
    ]


def _memory(machine: Machine, version: int, cache: bool) -> dict[str, tuple[Value, str]]:
    share = CACHE_SHARE if cache else STORE_SHARE
    policy = "allkeys-lfu" if cache else "noeviction"
    why = "a cache drops what is asked for least" if cache else "a store says no rather than drop a key"
    chosen: dict[str, tuple[Value, str]] = {
        "maxmemory": (
            int(machine.memory_bytes * share) // MIB * MIB,
            f"{share:.0%} of the memory: copies of pages while a child writes, buffers and the system take the rest",
        ),
        "maxmemory-policy": (policy, why),
        "lazyfree-lazy-eviction": ("yes", "large keys are freed beside the one thread that answers"),
        "lazyfree-lazy-expire": ("yes", "the same for keys whose time is over"),
    }
    if versions.at_least(version, redis=60000):
        chosen["lazyfree-lazy-user-del"] = ("yes", "DEL of a large key does not stop the others")
    return chosen


def _persistence(version: int, cache: bool) -> dict[str, tuple[Value, str]]:
    if cache:
        return {
            "appendonly": ("no", "what a cache loses can be made again"),
            "save": ("", "no snapshots of what can be made again: no child that copies memory"),
        }
    chosen: dict[str, tuple[Value, str]] = {
        "appendonly": ("yes", "each change is kept, not only snapshots"),
        "appendfsync": ("always", "nothing acknowledged is lost with the power; everysec loses up to two seconds"),
        "no-appendfsync-on-rewrite": ("no", "flushing goes on while a child writes"),
        "save": ("3600 1 300 100 60 10000", "snapshots for backups, as by default"),
        "stop-writes-on-bgsave-error": ("yes", "a full disk is noticed at once"),
        "rdbchecksum": ("yes", "damage is found when a file is read"),
    }
    if versions.at_least(version, redis=70000):
        chosen["aof-timestamp-enabled"] = ("yes", "the file can be cut at a moment, for recovery to it")
    return chosen


def _service(machine: Machine, version: int) -> dict[str, tuple[Value, str]]:
    backlog = max(64 * MIB, machine.memory_bytes // 200 // MIB * MIB)
    chosen: dict[str, tuple[Value, str]] = {
        "maxclients": (max(1000, machine.connections * 2), "twice the connections that are expected"),
        "timeout": (0, "pools of programs keep connections; dead peers are found by tcp-keepalive"),
        "tcp-keepalive": (300, "a peer that vanished is noticed within minutes"),
        "repl-backlog-size": (backlog, "a replica that was away for a while catches up without a whole copy"),
        "client-output-buffer-limit": (
            f"normal 0 0 0 replica {4 * backlog} {backlog} 60 pubsub {32 * MIB} {8 * MIB} 60",
            "a new replica gets as far as the backlog reaches before it is cut off",
        ),
        "slowlog-log-slower-than": (10000, "commands that take 10 ms are written down"),
        "slowlog-max-len": (1024, "enough of them to see a pattern"),
        "latency-monitor-threshold": (100, "events of 100 ms are kept: forks, flushes, expiry"),
        "protected-mode": ("yes", "without a password only this machine may connect"),
    }
    if versions.at_least(version, redis=60000) and machine.cores >= 4:
        threads = max(2, min(8, machine.cores // 2))
        chosen["io-threads"] = (threads, "half of the cores read and write sockets; commands stay in one thread")
    if not versions.at_least(version, redis=50000):
        limits = str(chosen["client-output-buffer-limit"][0]).replace("replica", "slave")
        chosen["client-output-buffer-limit"] = (limits, chosen["client-output-buffer-limit"][1])
    return chosen
