"""MONGO034: a collection has very many indexes

What it checks: no collection has more than 32 indexes.

Why it matters: each write goes to each of them; at 64 no more can be made.

Remedy: Drop those that others cover (a prefix of a longer one).

Risk: as with every dropped index: the query that needed it.

References: MongoDB manual, Limits and Thresholds (2024): 64
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, name = facts.number("data.indexes_most_count"), facts.text("data.indexes_most_collection")
    if count <= 32:
        return None
    return Finding(
        says=f"{name} has {count:.0f} indexes.",
        severity=Severity.ADVICE,
        fixes=(by_hand("indexes", "db.COLLECTION.getIndexes()"),),
    )


RULE = Rule(
    id="MONGO034",
    title="Collections have few indexes",
    topic="schema",
    check=check,
    source="MongoDB manual, Limits and Thresholds (2024)",
    good={"data.indexes_most_count": 4, "data.indexes_most_collection": "shop.orders"},
    bad={"data.indexes_most_count": 41, "data.indexes_most_collection": "shop.orders"},
)
