"""MONGO054: queries scan whole collections

What it checks: fewer than a tenth of the queries scanned a collection (metrics.queryExecutor.collectionScans, since
4.4).

Why it matters: a scan reads everything through the cache and throws out what others need.

Remedy: Find them in the log (planSummary: COLLSCAN) and make the index; small collections may be scanned.

Risk: one more index to write.

References: MongoDB manual, serverStatus (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand, version
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    scans = facts.number("status.metrics.queryExecutor.collectionScans.nonTailable")
    queries = facts.number("status.opcounters.query")
    if scans < 1000 or scans <= 0.1 * queries:
        return None
    return Finding(
        says=f"{scans:.0f} collection scans for {queries:.0f} queries.",
        severity=Severity.ADVICE,
        fixes=(by_hand("queries", "db.setProfilingLevel(1, {slowms: 100}) // then look for planSummary: COLLSCAN"),),
    )


RULE = Rule(
    id="MONGO054",
    title="Few queries scan collections",
    topic="queries",
    check=check,
    source="MongoDB manual, serverStatus (2024)",
    applies=lambda facts: version(facts) >= 40400,
    good={
        "server.version": 70012,
        "status.metrics.queryExecutor.collectionScans.nonTailable": 30,
        "status.opcounters.query": 100000,
    },
    bad={
        "server.version": 70012,
        "status.metrics.queryExecutor.collectionScans.nonTailable": 60000,
        "status.opcounters.query": 100000,
    },
)
