"""MONGO011: the memory engine may outgrow the memory

What it checks: one and a half times inMemorySizeGB fits into the memory.

Why it matters: near its limit the engine may take half as much again, which ends in swap or in a killed server that
forgets all.

Remedy: At most two thirds of the memory.

Risk: less room for data.

References: Percona Memory Engine for MongoDB (Percona, 2016)
"""

from dbdyno.engines.wiredtiger.rules._setting import GIB, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    size = facts.number("setting.storage.inMemory.engineConfig.inMemorySizeGB")
    limit = facts.number("server.memory_limit_bytes")
    if size * 1.5 * GIB <= limit:
        return None
    wanted = f"{int(limit / 1.5 / GIB * 100) / 100:g}"
    return Finding(
        says=f"inMemorySizeGB is {size:g}: with half as much again it is more than {limit / GIB:.1f} GiB of memory.",
        fixes=(setting(facts, "storage.inMemory.engineConfig.inMemorySizeGB", wanted),),
    )


RULE = Rule(
    id="MONGO011",
    title="The memory engine fits into the memory",
    topic="memory",
    check=check,
    source="Percona Memory Engine for MongoDB (Percona, 2016)",
    applies=lambda facts: facts.text("server.storage_engine") == "inMemory",
    good={
        "server.storage_engine": "inMemory",
        "setting.storage.inMemory.engineConfig.inMemorySizeGB": "8",
        "server.memory_limit_bytes": 17179869184,
    },
    bad={
        "server.storage_engine": "inMemory",
        "setting.storage.inMemory.engineConfig.inMemorySizeGB": "14",
        "server.memory_limit_bytes": 17179869184,
    },
)
