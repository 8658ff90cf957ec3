"""VK016: Most questions find nothing, while keys are dropped

What it checks: a server that drops keys answers at least half of the questions.

Why it matters: the cache is too small for what is asked of it, or what is put in is never asked for.

Remedy: more memory, shorter values, an end that fits, or a policy that keeps what is asked for (lfu).

Risk: none; the figures count since the start.

References: Valkey manual, INFO (2024): keyspace_hits, keyspace_misses, evicted_keys.
"""

from dbdyno.engines.valkey.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

QUESTIONS_MIN, HIT_SHARE_MIN = 10_000, 0.5


def check(facts: Facts) -> Finding | None:
    hits, misses = facts.number("status.keyspace_hits"), facts.number("status.keyspace_misses")
    evicted = facts.number("status.evicted_keys")
    if not evicted or hits + misses < QUESTIONS_MIN or hits >= (hits + misses) * HIT_SHARE_MIN:
        return None
    return Finding(
        says=f"{hits / (hits + misses):.0%} of the questions found their key; {evicted:.0f} keys were dropped.",
        severity=Severity.ADVICE,
        fixes=(by_hand("maxmemory", "CONFIG SET maxmemory …; or maxmemory-policy allkeys-lfu"),),
    )


RULE = Rule(
    id="VK016",
    title="The cache is large enough",
    topic="memory",
    check=check,
    source="Valkey manual, INFO and Key eviction (2024)",
    good={"status.keyspace_hits": 90000, "status.keyspace_misses": 10000, "status.evicted_keys": 5},
    bad={"status.keyspace_hits": 10000, "status.keyspace_misses": 90000, "status.evicted_keys": 50000},
)
