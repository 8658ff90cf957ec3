"""VK014: Only keys with an end may be dropped, and hardly any has one

What it checks: with a volatile-… policy at least a twentieth of the keys has an end.

Why it matters: when there is none left to drop the server refuses writes like noeviction.

Remedy: give keys an end (EXPIRE), or choose allkeys-… for a cache.

Risk: keys that get an end vanish at it.

References: Valkey manual, Key eviction (2024).
"""

from dbdyno.engines.valkey.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule

KEYS_MIN, SHARE_MIN = 1000, 0.05


def check(facts: Facts) -> Finding | None:
    limit, policy = facts.number("setting.maxmemory"), facts.text("setting.maxmemory-policy")
    keys, ending = facts.number("keyspace.keys_count"), facts.number("keyspace.expires_count")
    if not limit or keys < KEYS_MIN or ending >= keys * SHARE_MIN:
        return None
    return Finding(
        says=f"{policy} may drop {ending:.0f} of {keys:.0f} keys only.",
        fixes=(by_hand("maxmemory-policy", "EXPIRE … for what may go, or CONFIG SET maxmemory-policy allkeys-lfu"),),
    )


RULE = Rule(
    id="VK014",
    title="There are keys that may be dropped",
    topic="memory",
    check=check,
    source="Valkey manual, Key eviction (2024)",
    applies=lambda facts: facts.text("setting.maxmemory-policy").startswith("volatile-"),
    good={
        "setting.maxmemory": 1073741824,
        "setting.maxmemory-policy": "volatile-lru",
        "keyspace.keys_count": 10000,
        "keyspace.expires_count": 9000,
    },
    bad={
        "setting.maxmemory": 1073741824,
        "setting.maxmemory-policy": "volatile-lru",
        "keyspace.keys_count": 10000,
        "keyspace.expires_count": 3,
    },
)
