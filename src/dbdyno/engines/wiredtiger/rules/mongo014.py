"""MONGO014: clients' threads clean the cache

What it checks: application threads evicted less than 5 % of the pages that were evicted since the start.

Why it matters: an operation whose thread evicts pages waits for the disk, at the 99th percentile first.

Remedy: More write throughput, fewer indexes, smaller documents; then more eviction threads (threads_max).

Risk: none by looking.

References: WiredTiger manual, Cache and Eviction Tuning (2024); WiredTiger Logging and Checkpoint Mechanism (Percona,
2023)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    own = facts.number("status.wiredTiger.cache.pages_evicted_by_application_threads")
    clean, dirty = (
        facts.number("status.wiredTiger.cache.unmodified_pages_evicted"),
        facts.number("status.wiredTiger.cache.modified_pages_evicted"),
    )
    total = clean + dirty
    if own < 1000 or own <= 0.05 * total:
        return None
    return Finding(
        says=f"Clients' threads evicted {own:.0f} pages, {own / max(total, own):.0%} of all.",
        fixes=(by_hand("eviction", "db.serverStatus().wiredTiger.cache // twice, some minutes apart"),),
    )


RULE = Rule(
    id="MONGO014",
    title="The cache is cleaned in the background",
    topic="cache",
    check=check,
    source="WiredTiger manual, Cache and Eviction Tuning (2024)",
    good={
        "status.wiredTiger.cache.pages_evicted_by_application_threads": 100,
        "status.wiredTiger.cache.unmodified_pages_evicted": 50000,
        "status.wiredTiger.cache.modified_pages_evicted": 50000,
    },
    bad={
        "status.wiredTiger.cache.pages_evicted_by_application_threads": 20000,
        "status.wiredTiger.cache.unmodified_pages_evicted": 50000,
        "status.wiredTiger.cache.modified_pages_evicted": 50000,
    },
)
