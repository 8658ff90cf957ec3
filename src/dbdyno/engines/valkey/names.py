"""Settings by name: those that rules ask for, those that only a restart changes, and those that have another name now.

Sources: redis.conf 4.0 to 7.2 and valkey.conf 7.2 to 8.1, and the release notes of 5.0, 6.2, 7.0 (2018 to 2025).
"""

from __future__ import annotations

ASKED = (
    "maxmemory", "maxmemory-policy", "maxmemory-samples", "save", "appendonly", "appendfsync",
    "no-appendfsync-on-rewrite", "stop-writes-on-bgsave-error", "rdbchecksum", "aof-load-truncated",
    "auto-aof-rewrite-percentage", "aof-timestamp-enabled", "repl-backlog-size", "repl-backlog-ttl",
    "min-replicas-to-write", "min-replicas-max-lag", "replica-read-only", "replica-serve-stale-data", "repl-timeout",
    "repl-ping-replica-period", "repl-diskless-sync", "client-output-buffer-limit", "timeout", "tcp-keepalive",
    "tcp-backlog", "maxclients", "io-threads", "hz", "activedefrag", "lazyfree-lazy-eviction", "lazyfree-lazy-expire",
    "slowlog-log-slower-than", "slowlog-max-len", "latency-monitor-threshold", "protected-mode", "bind", "port",
    "tls-port", "requirepass", "enable-debug-command", "enable-module-command", "enable-protected-configs", "databases",
    "cluster-enabled", "cluster-require-full-coverage", "replica-ignore-disk-write-errors", "dir",
)  # fmt: skip
"""Where CONFIG is refused, these are said to be unseen, with the reason."""

WAITS_FOR_RESTART = frozenset(
    {"tcp-backlog", "databases", "io-threads", "cluster-enabled", "daemonize", "supervised", "aclfile", "unixsocket",
     "appendfilename", "appenddirname", "enable-debug-command", "enable-module-command", "enable-protected-configs",
     "disable-thp", "rdbchecksum", "syslog-enabled", "always-show-logo"}
)  # fmt: skip
"""CONFIG SET refuses them in the versions that are known here."""

RENAMED = {
    "slaveof": ("replicaof", 50000), "slave-serve-stale-data":
    ("replica-serve-stale-data", 50000), "slave-read-only": ("replica-read-only", 50000), "slave-priority":
    ("replica-priority", 50000), "slave-announce-ip": ("replica-announce-ip", 50000), "slave-announce-port":
    ("replica-announce-port", 50000), "slave-lazy-flush": ("replica-lazy-flush", 50000), "slave-ignore-maxmemory":
    ("replica-ignore-maxmemory", 50000), "min-slaves-to-write": ("min-replicas-to-write", 50000), "min-slaves-max-lag":
    ("min-replicas-max-lag", 50000), "repl-ping-slave-period": ("repl-ping-replica-period", 50000),
    "cluster-slave-validity-factor": ("cluster-replica-validity-factor", 50000), "cluster-slave-no-failover":
    ("cluster-replica-no-failover", 50000), "hash-max-ziplist-entries": ("hash-max-listpack-entries", 70000),
    "hash-max-ziplist-value": ("hash-max-listpack-value", 70000), "zset-max-ziplist-entries":
    ("zset-max-listpack-entries", 70000), "zset-max-ziplist-value": ("zset-max-listpack-value", 70000),
    "list-max-ziplist-size": ("list-max-listpack-size", 70000), "lua-time-limit": ("busy-reply-threshold", 70000),
}  # fmt: skip
"""Old name, new name, and since which version of Redis; every Valkey has them."""

RENAMED_VALKEY = {
    "masterauth": ("primaryauth", 80000), "masteruser": ("primaryuser", 80000), "server_cpulist":
    ("server-cpulist", 80000), "bio_cpulist": ("bio-cpulist", 80000), "aof_rewrite_cpulist":
    ("aof-rewrite-cpulist", 80000), "bgsave_cpulist": ("bgsave-cpulist", 80000),
}  # fmt: skip
"""The same, of Valkey alone, by its own version. Source: valkey.conf 8.0 (2024), and what CONFIG GET of 8.0.1 shows."""
