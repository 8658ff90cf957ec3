"""MONGO041: a secondary lags

What it checks: the secondary that is furthest behind lags less than 10 s.

Why it matters: what it serves is old, majorities wait for it, and after an election what it lacks has to be fetched.

Remedy: Look at its disk, at long reads on it and at index builds; all members want the same machine.

Risk: none by looking.

References: MongoDB manual, Troubleshoot Replica Sets (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand, in_set
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    lag, member = facts.number("replication.lag_s_max"), facts.text("replication.lag_member")
    if lag < 10:
        return None
    return Finding(
        says=f"{member} is {lag:.0f} s behind the primary.",
        severity=Severity.CRITICAL if lag > 600 else Severity.WARNING,
        fixes=(by_hand("replication", "rs.printSecondaryReplicationInfo()"),),
    )


RULE = Rule(
    id="MONGO041",
    title="The secondaries keep up",
    topic="replication",
    check=check,
    source="MongoDB manual, Troubleshoot Replica Sets (2024)",
    applies=in_set,
    good={"server.role": "primary", "replication.lag_s_max": 0.0, "replication.lag_member": "db2:27017"},
    bad={"server.role": "primary", "replication.lag_s_max": 95.0, "replication.lag_member": "db2:27017"},
)
