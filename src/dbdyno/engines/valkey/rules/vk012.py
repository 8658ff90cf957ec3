"""VK012: A cache that refuses writes when it is full

What it checks: a server that keeps nothing on disk and has a limit drops keys when it is full.

Why it matters: with noeviction every write fails from then on, although all that is there could be made again.

Remedy: allkeys-lfu or allkeys-lru; a queue or a session store without persistence keeps noeviction, and wants an
alarm on its memory.

Risk: keys are dropped: only where the program can make them again.

References: Valkey manual, Key eviction (2024).
"""

from dbdyno.engines.valkey.rules._setting import by_hand, forks
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    policy, keeps = facts.text("setting.maxmemory-policy"), forks(facts)
    if keeps or policy != "noeviction":
        return None
    return Finding(
        says="Nothing is kept on disk, and a full server refuses writes (noeviction) instead of dropping keys.",
        severity=Severity.ADVICE,
        confidence=0.6,
        fixes=(by_hand("maxmemory-policy", "CONFIG SET maxmemory-policy allkeys-lfu"),),
    )


RULE = Rule(
    id="VK012",
    title="A full cache drops keys",
    topic="memory",
    check=check,
    source="Valkey manual, Key eviction (2024)",
    applies=lambda facts: facts.number("setting.maxmemory") > 0,
    good={
        "setting.maxmemory": 1073741824,
        "setting.maxmemory-policy": "allkeys-lfu",
        "setting.save": "",
        "setting.appendonly": "no",
    },
    bad={
        "setting.maxmemory": 1073741824,
        "setting.maxmemory-policy": "noeviction",
        "setting.save": "",
        "setting.appendonly": "no",
    },
)
