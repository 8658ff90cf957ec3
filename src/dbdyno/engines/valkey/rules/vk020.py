"""VK020: Nothing is kept

What it checks: a server without replicas that holds keys without an end has snapshots or an append-only file.

Why it matters: each restart begins empty.

Remedy: appendonly yes for a store; nothing, where all can be made again.

Risk: a child that writes needs memory and disk.

References: Valkey manual, Persistence (2024); "Valkey/Redis Configurations and Persistent Setting of the Key
Parameters" (2024).
"""

from dbdyno.engines.valkey.rules._setting import by_hand, forks
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    kept, keys, ending = forks(facts), facts.number("keyspace.keys_count"), facts.number("keyspace.expires_count")
    if kept or keys <= ending:
        return None
    return Finding(
        says=f"No snapshots (save is empty), no append-only file, and {keys - ending:.0f} keys without an end.",
        fixes=(by_hand("appendonly", "CONFIG SET appendonly yes; CONFIG REWRITE", undo="CONFIG SET appendonly no"),),
        durability=Level.L2,
    )


RULE = Rule(
    id="VK020",
    title="Keys outlive a restart",
    topic="durability",
    check=check,
    source="Valkey manual, Persistence (2024)",
    applies=lambda facts: facts.number("replication.replicas_count") == 0,
    good={
        "replication.replicas_count": 0,
        "setting.save": "3600 1",
        "setting.appendonly": "no",
        "keyspace.keys_count": 100,
        "keyspace.expires_count": 0,
    },
    bad={
        "replication.replicas_count": 0,
        "setting.save": "",
        "setting.appendonly": "no",
        "keyspace.keys_count": 100,
        "keyspace.expires_count": 0,
    },
)
