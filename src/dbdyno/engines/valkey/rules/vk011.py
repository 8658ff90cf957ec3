"""VK011: The limit leaves no room

What it checks: maxmemory is at most 75 % of the memory, 85 % where no child writes snapshots or the append-only file.

Why it matters: while a child writes, each page that changes is copied; buffers of clients and replicas and the
fragments of the allocator come beside the limit. Then the system kills the server.

Remedy: a lower maxmemory, or more memory.

Risk: a limit below what is used drops keys or refuses writes at once.

References: Valkey manual, Administration (2024); Redis Administration, "if you are using Redis in a write-heavy
application" (2022).
"""

from dbdyno.engines.valkey.rules._setting import (
    FORKING_SHARE_MAX,
    GIB,
    RESTING_SHARE_MAX,
    by_hand,
    forks,
    memory_bytes,
    setting,
    wanted_bytes,
)
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    limit, memory, wanted = facts.number("setting.maxmemory"), memory_bytes(facts), wanted_bytes(facts)
    used = facts.number("status.used_memory")
    share = FORKING_SHARE_MAX if forks(facts) else RESTING_SHARE_MAX
    if limit <= memory * share:
        return None
    fits = used * 1.2 < wanted
    return Finding(
        says=f"maxmemory is {limit / GIB:.1f} GiB of {memory / GIB:.1f} GiB; at most {share:.0%} of it is safe here.",
        fixes=(setting(facts, "maxmemory", wanted) if fits else by_hand("maxmemory", "CONFIG SET maxmemory …"),),
    )


RULE = Rule(
    id="VK011",
    title="The limit leaves room for children and buffers",
    topic="memory",
    check=check,
    source="Valkey manual, Administration (2024)",
    applies=lambda facts: facts.number("setting.maxmemory") > 0,
    good={
        "setting.maxmemory": 9663676416,
        "setting.save": "3600 1",
        "setting.appendonly": "no",
        "status.total_system_memory": 17179869184,
        "status.used_memory": 1073741824,
    },
    bad={
        "setting.maxmemory": 16106127360,
        "setting.save": "3600 1",
        "setting.appendonly": "no",
        "status.total_system_memory": 17179869184,
        "status.used_memory": 1073741824,
    },
)
