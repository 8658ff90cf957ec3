"""MONGO053: queries sort without an index

What it checks: fewer than a tenth of the queries sorted in memory (metrics.operation.scanAndOrder).

Why it matters: such a sort reads all that matches before it gives the first document, and fails or spills beyond 100
MB.

Remedy: Find them in the log (hasSortStage); put the sort's fields behind the equalities of the index.

Risk: one more index to write.

References: MongoDB manual, serverStatus and Use Indexes to Sort Query Results (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    sorts, queries = facts.number("status.metrics.operation.scanAndOrder"), facts.number("status.opcounters.query")
    if sorts < 1000 or sorts <= 0.1 * queries:
        return None
    return Finding(
        says=f"{sorts:.0f} of {queries:.0f} queries sorted in memory.",
        severity=Severity.ADVICE,
        fixes=(by_hand("queries", "db.setProfilingLevel(1, {slowms: 100}) // then look for hasSortStage"),),
    )


RULE = Rule(
    id="MONGO053",
    title="Sorts are served by indexes",
    topic="queries",
    check=check,
    source="MongoDB manual, Use Indexes to Sort Query Results (2024)",
    good={"status.metrics.operation.scanAndOrder": 10, "status.opcounters.query": 100000},
    bad={"status.metrics.operation.scanAndOrder": 40000, "status.opcounters.query": 100000},
)
