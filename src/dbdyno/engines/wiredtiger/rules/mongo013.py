"""MONGO013: the cache is full

What it checks: less than 95 % of the cache is used (eviction_trigger).

Why it matters: eviction should hold it at 80 %; above 95 % operations stop until pages are thrown out.

Remedy: Find what pins the cache (a long transaction, an open cursor with an old snapshot) or what reads whole
collections; then think of more memory.

Risk: none by looking.

References: WiredTiger manual, Cache and Eviction Tuning (2024): target 80, trigger 95
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    used = facts.number("status.wiredTiger.cache.bytes_currently_in_the_cache") / facts.number(
        "status.wiredTiger.cache.maximum_bytes_configured"
    )
    if used < 0.95:
        return None
    return Finding(
        says=f"{used:.0%} of the cache is in use; eviction does not keep it below 95 %.",
        fixes=(by_hand("cache", "db.currentOp({active: true, secs_running: {$gt: 60}})"),),
    )


RULE = Rule(
    id="MONGO013",
    title="Eviction keeps room in the cache",
    topic="cache",
    check=check,
    source="WiredTiger manual, Cache and Eviction Tuning (2024)",
    good={
        "status.wiredTiger.cache.bytes_currently_in_the_cache": 6400000000,
        "status.wiredTiger.cache.maximum_bytes_configured": 8053063680,
    },
    bad={
        "status.wiredTiger.cache.bytes_currently_in_the_cache": 7900000000,
        "status.wiredTiger.cache.maximum_bytes_configured": 8053063680,
    },
)
