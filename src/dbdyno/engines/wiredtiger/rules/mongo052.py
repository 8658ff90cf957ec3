"""MONGO052: cursors are left to time out

What it checks: fewer than one cursor a minute timed out since the start, and no more than 10 open ones have no time
limit.

Why it matters: a forgotten cursor holds memory and, in a transaction or snapshot, pins old data in the cache for ten
minutes.

Remedy: Close cursors in the application; do without noCursorTimeout.

Risk: none.

References: MongoDB manual, serverStatus: metrics.cursor (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    out, seconds = facts.number("status.metrics.cursor.timedOut"), facts.number("server.uptime_s")
    endless = facts.number("status.metrics.cursor.open.noTimeout")
    if (out < 100 or out * 60 < seconds) and endless <= 10:
        return None
    return Finding(
        says=f"{out:.0f} cursors timed out since the start, {endless:.0f} open ones have no time limit.",
        severity=Severity.ADVICE,
        fixes=(by_hand("cursors", "db.serverStatus().metrics.cursor"),),
    )


RULE = Rule(
    id="MONGO052",
    title="Cursors are closed or read to their end",
    topic="operations",
    check=check,
    source="MongoDB manual, serverStatus (2024)",
    good={"status.metrics.cursor.timedOut": 2, "server.uptime_s": 864000, "status.metrics.cursor.open.noTimeout": 0},
    bad={"status.metrics.cursor.timedOut": 90000, "server.uptime_s": 864000, "status.metrics.cursor.open.noTimeout": 0},
)
