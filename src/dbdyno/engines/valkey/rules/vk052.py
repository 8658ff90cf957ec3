"""VK052: Dropping a large key stops everybody

What it checks: lazyfree-lazy-eviction is yes where keys may be dropped.

Why it matters: a key of a million members is freed by the thread that answers, for hundreds of milliseconds.

Remedy: lazyfree-lazy-eviction yes (the default of Valkey 8.0 and later).

Risk: memory is free a moment later than its key.

References: valkey.conf 8.0, lazy freeing (2024).
"""

from dbdyno.engines.valkey.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    policy, limit = facts.text("setting.maxmemory-policy"), facts.number("setting.maxmemory")
    if facts.flag("setting.lazyfree-lazy-eviction") or not limit:
        return None
    return Finding(
        says=f"{policy} frees what it drops in the thread that answers (lazyfree-lazy-eviction is no).",
        severity=Severity.ADVICE,
        fixes=(setting(facts, "lazyfree-lazy-eviction", "yes"),),
    )


RULE = Rule(
    id="VK052",
    title="Large keys are dropped aside",
    topic="performance",
    check=check,
    source="valkey.conf 8.0, lazy freeing (2024)",
    applies=lambda facts: facts.text("setting.maxmemory-policy") != "noeviction",
    good={
        "setting.maxmemory-policy": "allkeys-lru",
        "setting.maxmemory": 1073741824,
        "setting.lazyfree-lazy-eviction": "yes",
    },
    bad={
        "setting.maxmemory-policy": "allkeys-lru",
        "setting.maxmemory": 1073741824,
        "setting.lazyfree-lazy-eviction": "no",
    },
)
