"""VK015: The memory is nearly full and nothing may be dropped

What it checks: less than 90 % of maxmemory is used where the policy is noeviction.

Why it matters: at the limit every write fails with OOM.

Remedy: raise maxmemory within the memory, give keys an end, or delete.

Risk: a higher limit must leave room for children and buffers (VK011).

References: Valkey manual, Key eviction (2024).
"""

from dbdyno.engines.valkey.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

SHARE_MAX = 0.9


def check(facts: Facts) -> Finding | None:
    limit, policy = facts.number("setting.maxmemory"), facts.text("setting.maxmemory-policy")
    used = facts.number("status.used_memory")
    if policy != "noeviction" or used <= limit * SHARE_MAX:
        return None
    return Finding(
        says=f"{used / limit:.0%} of maxmemory is used, and noeviction refuses writes at the limit.",
        severity=Severity.CRITICAL,
        fixes=(by_hand("maxmemory", "CONFIG SET maxmemory …"),),
    )


RULE = Rule(
    id="VK015",
    title="There is room for writes",
    topic="memory",
    check=check,
    source="Valkey manual, Key eviction (2024)",
    applies=lambda facts: facts.number("setting.maxmemory") > 0,
    good={"setting.maxmemory": 1073741824, "setting.maxmemory-policy": "noeviction", "status.used_memory": 536870912},
    bad={"setting.maxmemory": 1073741824, "setting.maxmemory-policy": "noeviction", "status.used_memory": 1073741823},
)
