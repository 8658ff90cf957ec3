"""VK013: A store that drops keys

What it checks: a server with an append-only file does not drop keys that nobody gave an end.

Why it matters: allkeys-… throws away what the program was told is kept; the append-only file keeps the loss too.

Remedy: noeviction, or volatile-… with an end for all that may go.

Risk: a full server refuses writes: watch its memory.

References: Valkey manual, Key eviction (2024).
"""

from dbdyno.engines.valkey.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    policy, kept = facts.text("setting.maxmemory-policy"), facts.flag("setting.appendonly")
    if not kept or not policy.startswith("allkeys-"):
        return None
    return Finding(
        says=f"Each change is kept in the append-only file, and {policy} drops any key when the memory is full.",
        fixes=(by_hand("maxmemory-policy", "CONFIG SET maxmemory-policy noeviction"),),
        durability=Level.L3,
    )


RULE = Rule(
    id="VK013",
    title="A store keeps its keys",
    topic="durability",
    check=check,
    source="Valkey manual, Key eviction (2024)",
    applies=lambda facts: facts.number("setting.maxmemory") > 0,
    good={"setting.maxmemory": 1073741824, "setting.maxmemory-policy": "noeviction", "setting.appendonly": "yes"},
    bad={"setting.maxmemory": 1073741824, "setting.maxmemory-policy": "allkeys-lru", "setting.appendonly": "yes"},
)
