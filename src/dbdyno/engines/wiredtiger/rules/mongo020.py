"""MONGO020: no ticket was free for another operation

What it checks: a read and a write ticket are available (wiredTiger.concurrentTransactions, since 8.0
queues.execution).

Why it matters: an operation without a ticket waits before it begins; before 7.0 there are 128 of each, since then the
server adapts their number, so that few are no fault by themselves.

Remedy: Look what holds them: a slow disk, a scan, a full cache. More tickets make it worse.

Risk: none by looking.

References: MongoDB manual, serverStatus (2024): since 7.0 adapted, since 8.0 under queues.execution
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand, version
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    path = "status.queues.execution." if version(facts) >= 80000 else "status.wiredTiger.concurrentTransactions."
    free = {kind: facts.number(f"{path}{kind}.available") for kind in ("read", "write")}
    waiting = facts.number("status.globalLock.currentQueue.total")
    none = [kind for kind, count in free.items() if not count]
    if not none or not waiting:
        return None
    return Finding(
        says=f"No {' and no '.join(none)} ticket is free, and {waiting:.0f} operations wait.",
        fixes=(by_hand("tickets", "db.currentOp({active: true})"),),
    )


RULE = Rule(
    id="MONGO020",
    title="Tickets are free",
    topic="concurrency",
    check=check,
    source="MongoDB manual, serverStatus (2024)",
    good={
        "server.version": 70012,
        "status.wiredTiger.concurrentTransactions.read.available": 120,
        "status.wiredTiger.concurrentTransactions.write.available": 127,
        "status.globalLock.currentQueue.total": 0,
    },
    bad={
        "server.version": 70012,
        "status.wiredTiger.concurrentTransactions.read.available": 0,
        "status.wiredTiger.concurrentTransactions.write.available": 127,
        "status.globalLock.currentQueue.total": 40,
    },
)
