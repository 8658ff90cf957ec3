"""MONGO012: more of the cache is dirty than the disk can take

What it checks: the dirty part of the cache is below eviction_dirty_trigger, 20 %.

Why it matters: from there on clients' own threads have to write pages out before their operations go on.

Remedy: Give it more write throughput or spread the writes; a larger cache or a higher trigger only postpones it.

Risk: none by looking.

References: WiredTiger Logging and Checkpoint Mechanism (Percona, 2023): 5 % target and 20 % trigger. They drive
eviction, not checkpoints as the article has it (WiredTiger manual, Cache and Eviction Tuning, 2024).
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    dirty = facts.number("status.wiredTiger.cache.tracked_dirty_bytes_in_the_cache") / facts.number(
        "status.wiredTiger.cache.maximum_bytes_configured"
    )
    if dirty < 0.2:
        return None
    return Finding(
        says=f"{dirty:.0%} of the cache is dirty; from 20 % on, clients' threads write pages themselves.",
        fixes=(by_hand("cache", "db.serverStatus().wiredTiger.cache['tracked dirty bytes in the cache']"),),
    )


RULE = Rule(
    id="MONGO012",
    title="The disk keeps up with the dirty cache",
    topic="cache",
    check=check,
    source="WiredTiger Logging and Checkpoint Mechanism (Percona, 2023)",
    good={
        "status.wiredTiger.cache.tracked_dirty_bytes_in_the_cache": 100000000,
        "status.wiredTiger.cache.maximum_bytes_configured": 8053063680,
    },
    bad={
        "status.wiredTiger.cache.tracked_dirty_bytes_in_the_cache": 2000000000,
        "status.wiredTiger.cache.maximum_bytes_configured": 8053063680,
    },
)
