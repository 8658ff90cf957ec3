"""MONGO040: the log of operations reaches back too short

What it checks: the oplog covers at least 24 hours.

Why it matters: a member that is away longer, for a disk, a compact or an initial sync, cannot catch up and has to be
copied anew.

Remedy: Enlarge it while it runs: replSetResizeOplog (since 4.0 kept by hours too: storage.oplogMinRetentionHours
since 4.4).

Risk: disk; on each member by itself.

References: How to Reclaim Disk Space in Percona Server for MongoDB (Percona, 2022): check the window before; MongoDB
manual, Replica Set Oplog (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand, in_set
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    hours = facts.number("replication.oplog_window_s") / 3600
    if hours >= 24 or facts.number("server.uptime_s") < 86400:
        return None
    return Finding(
        says=f"The oplog covers {hours:.1f} hours.",
        severity=Severity.CRITICAL if hours < 1 else Severity.WARNING,
        fixes=(by_hand("oplog", "db.adminCommand({replSetResizeOplog: 1, size: MEGABYTES, minRetentionHours: 24})"),),
    )


RULE = Rule(
    id="MONGO040",
    title="The oplog covers a day",
    topic="replication",
    check=check,
    source="How to Reclaim Disk Space in Percona Server for MongoDB (Percona, 2022); MongoDB manual, Oplog (2024)",
    applies=in_set,
    good={"server.role": "primary", "replication.oplog_window_s": 260000},
    bad={"server.role": "primary", "replication.oplog_window_s": 7200, "server.uptime_s": 2000000},
)
