"""MONGO055: many documents are read for each that is returned

What it checks: fewer than 100 documents are examined for one that is returned, since the start.

Why it matters: the rest is read through the cache for nothing.

Remedy: Better indexes; counts and aggregations over much data raise it without harm.

Risk: one more index to write.

References: MongoDB manual, serverStatus: metrics.queryExecutor (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    read = facts.number("status.metrics.queryExecutor.scannedObjects")
    returned = facts.number("status.metrics.document.returned")
    if read < 1e6 or read <= 100 * max(1.0, returned):
        return None
    return Finding(
        says=f"{read / max(1.0, returned):.0f} documents are examined for each that is returned.",
        severity=Severity.ADVICE,
        confidence=0.7,
        fixes=(
            by_hand("queries", "db.setProfilingLevel(1, {slowms: 100}) // then compare docsExamined and nreturned"),
        ),
    )


RULE = Rule(
    id="MONGO055",
    title="Queries read little more than they return",
    topic="queries",
    check=check,
    source="MongoDB manual, serverStatus (2024)",
    good={"status.metrics.queryExecutor.scannedObjects": 5000, "status.metrics.document.returned": 4000},
    bad={"status.metrics.queryExecutor.scannedObjects": 90000000, "status.metrics.document.returned": 4000},
)
