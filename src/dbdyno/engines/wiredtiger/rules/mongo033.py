"""MONGO033: indexes are not used

What it checks: no index but _id_ has had zero uses since the server's start, which was at least a week ago.

Why it matters: each index is written with each document and takes room in the cache.

Remedy: Hide it first (hideIndex, since 4.4), drop it after a while. Look on all members: reads of secondaries count
there only. TTL and unique indexes do their work without being read.

Risk: a query that came once a month is slow until the index is back.

References: MongoDB manual, $indexStats and Hidden Indexes (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, names = facts.number("data.unused_indexes_count"), facts.text("data.unused_indexes_examples")
    if not count or facts.number("server.uptime_s") < 7 * 86400:
        return None
    return Finding(
        says=f"{count:.0f} indexes were not used since the start: {names}.",
        severity=Severity.ADVICE,
        confidence=0.7,
        fixes=(by_hand("hideIndex", "db.COLLECTION.hideIndex('INDEX')", undo="db.COLLECTION.unhideIndex('INDEX')"),),
    )


RULE = Rule(
    id="MONGO033",
    title="Every index is used",
    topic="schema",
    check=check,
    source="MongoDB manual, $indexStats (2024)",
    good={"data.unused_indexes_count": 0, "data.unused_indexes_examples": ""},
    bad={
        "data.unused_indexes_count": 3,
        "data.unused_indexes_examples": "shop.orders.old_1",
        "server.uptime_s": 2000000,
    },
)
