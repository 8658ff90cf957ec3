"""A starting mongod.conf from the documented rules, and how a configuration is written down.

Sources: MongoDB Tuning Anti-Patterns (Percona, 2021); MongoDB manual, "Production Notes", "Security Checklist" and
"Configuration File Options" (2024).
"""

from __future__ import annotations

from dbdyno.engines.wiredtiger import conffile
from dbdyno.engines.wiredtiger.options import VERSION_ALWAYS_JOURNALED
from dbdyno.model.knob import Advice, Assignment, Value
from dbdyno.model.machine import Machine

GIB = 1 << 30
_AT_START = ("setParameter.enableLocalhostAuthBypass", "setParameter.storageEngineConcurrencyAdjustmentAlgorithm")
"""Parameters that a running server does not take, or not in all versions. Source: MongoDB manual, Server Parameters
(2024)."""
CACHE_BYTES_MIN = 256 << 20


def cache_default_bytes(memory_bytes: float) -> float:
    """Half of what is beyond the first GiB, at least 256 MiB. Source: MongoDB manual, "WiredTiger Storage Engine",
    section Memory Use (2024)."""
    return max(0.5 * (memory_bytes - GIB), CACHE_BYTES_MIN)


def advice(machine: Machine, version: int) -> list[Advice]:
    """One: what the server would choose itself where that is right, said aloud, and what it leaves open by default."""
    cache = cache_default_bytes(machine.memory_bytes)
    chosen: dict[str, tuple[Value, str]] = {
        "storage.wiredTiger.engineConfig.cacheSizeGB": (
            f"{int(cache / GIB * 100) / 100:g}",
            "half of the memory beyond 1 GiB: the file cache holds the compressed blocks in the other half",
        ),
        "storage.wiredTiger.collectionConfig.blockCompressor": ("snappy", "the default: cheap, and halves the reads"),
        "storage.journal.commitIntervalMs": (100, "the default: bounds what w:1 without j can lose"),
        "net.bindIp": ("localhost", "add the addresses that clients use, once users exist"),
        "security.authorization": ("enabled", "without it everybody who reaches the port is an administrator"),
        "security.keyFile": (
            "/etc/mongod.key",
            "members of a set prove themselves with it: openssl rand -base64 756 > FILE, then chmod 400, as the "
            "server's user; with authorization, a set does not start without it",
        ),
        "replication.replSetName": ("rs0", "also for a single server: the oplog allows backups to a point in time"),
        "operationProfiling.mode": ("off", "slow operations are in the log all the same"),
        "operationProfiling.slowOpThresholdMs": (100, "the default; lower it while looking for something"),
    }
    if machine.connections:
        chosen["net.maxIncomingConnections"] = (
            max(1000, machine.connections * 2),
            "twice what is expected, so that a storm is refused before memory for stacks (1 MiB each) runs out",
        )
    if version < VERSION_ALWAYS_JOURNALED:
        chosen["storage.journal.enabled"] = ("true", "the default; without it a minute of writes can be lost")
    return [
        Advice(
            name="formula",
            title="Documented defaults for this memory, and authorisation on",
            assignment={name: value for name, (value, _) in chosen.items()},
            reasons={name: why for name, (_, why) in chosen.items()},
            source="MongoDB manual, Production Notes (2024); MongoDB Tuning Anti-Patterns (Percona, 2021)",
        )
    ]


def render(assignment: Assignment) -> tuple[str, list[str]]:
    """The configuration as YAML, and the commands for those that a running server takes."""
    options = {name: str(value) for name, value in assignment.items() if not _elsewhere(name)}
    return conffile.fragment(options) if options else "", [
        live for name, value in assignment.items() if (live := live_command(name, value))
    ]


def _elsewhere(name: str) -> bool:
    """Settings of the replica set and of the whole cluster, which have no line in the file."""
    return name in ("defaultWriteConcern", "writeConcernMajorityJournalDefault")


def live_command(name: str, value: Value) -> str:
    """What the shell is told to change a parameter of the running server; empty for what is only read at the start."""
    if name == "storage.wiredTiger.engineConfig.cacheSizeGB":
        size = f"{float(value) * 1024:.0f}M"
        return f"db.adminCommand({{setParameter: 1, wiredTigerEngineRuntimeConfig: 'cache_size={size}'}})"
    if name.startswith("setParameter.") and name not in _AT_START:
        text = str(value)
        plain = text in ("true", "false") or text.replace(".", "", 1).isdigit()
        word = text if plain else repr(text)
        return f"db.adminCommand({{setParameter: 1, {name.removeprefix('setParameter.')}: {word}}})"
    return ""
