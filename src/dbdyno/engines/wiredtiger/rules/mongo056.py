"""MONGO056: operations have been running for long

What it checks: no operation of a client has been running for more than ten minutes.

Why it matters: it pins old versions in the cache, and holds back index builds and elections.

Remedy: Look at it; killOp ends it. Let clients say maxTimeMS.

Risk: what is killed is rolled back.

References: MongoDB manual, currentOp (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("server.operations_long_count"), facts.text("server.operations_long_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} operations have been running for more than ten minutes: {examples}.",
        fixes=(by_hand("operations", "db.currentOp({active: true, secs_running: {$gt: 600}})"),),
    )


RULE = Rule(
    id="MONGO056",
    title="No operation runs for long",
    topic="operations",
    check=check,
    source="MongoDB manual, currentOp (2024)",
    good={"server.operations_long_count": 0, "server.operations_long_examples": ""},
    bad={"server.operations_long_count": 1, "server.operations_long_examples": "query on shop.orders"},
)
