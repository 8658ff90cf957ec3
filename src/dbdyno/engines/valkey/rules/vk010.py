"""VK010: Memory has no limit

What it checks: maxmemory is set.

Why it matters: the server grows until the system swaps or kills it, with all that was not on disk.

Remedy: maxmemory at 60 % of the memory, 75 % where no child ever writes snapshots; the rest is for copied pages,
buffers and the system.

Risk: when the limit is reached writes are refused (noeviction) or keys are dropped (the other policies): choose the
policy first.

References: Valkey manual, Key eviction, and Administration (2024): set maxmemory, and leave room for the child of a
snapshot.
"""

from dbdyno.engines.valkey.rules._setting import GIB, by_hand, memory_bytes, setting, wanted_bytes
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    limit, memory = facts.number("setting.maxmemory"), memory_bytes(facts)
    used = facts.number("status.used_memory")
    if limit:
        return None
    wanted = wanted_bytes(facts) if facts.has("setting.save") and facts.has("setting.appendonly") else 0
    fits = used * 1.2 < wanted
    return Finding(
        says=f"maxmemory is 0: the server may take all {memory / GIB:.1f} GiB, and more.",
        fixes=(setting(facts, "maxmemory", wanted) if fits else by_hand("maxmemory", "CONFIG SET maxmemory …"),),
    )


RULE = Rule(
    id="VK010",
    title="Memory has a limit",
    topic="memory",
    check=check,
    source="Valkey manual, Key eviction and Administration (2024)",
    good={
        "setting.maxmemory": 9663676416,
        "status.total_system_memory": 17179869184,
        "status.used_memory": 1073741824,
    },
    bad={
        "setting.maxmemory": 0,
        "setting.save": "3600 1",
        "setting.appendonly": "no",
        "status.total_system_memory": 17179869184,
        "status.used_memory": 1073741824,
    },
)
