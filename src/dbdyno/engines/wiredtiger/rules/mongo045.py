"""MONGO045: secondaries copy from each other and lag

What it checks: no secondary that copies from another secondary is among those that lag.

Why it matters: each link adds its own delay, and majorities are acknowledged later; between data centres a chain
saves traffic.

Remedy: Give the member another source (replSetSyncFrom), or forbid chains: settings.chainingAllowed: false.

Risk: all secondaries load the primary.

References: MongoDB manual, Manage Chained Replication (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand, in_set
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, names = facts.number("replication.chained_count"), facts.text("replication.chained_examples")
    lag, member = facts.number("replication.lag_s_max"), facts.text("replication.lag_member")
    if not count or lag < 10 or member not in names.split(", "):
        return None
    return Finding(
        says=f"{member} copies from another secondary and is {lag:.0f} s behind.",
        severity=Severity.ADVICE,
        fixes=(by_hand("chainingAllowed", "c = rs.conf(); c.settings.chainingAllowed = false; rs.reconfig(c)"),),
    )


RULE = Rule(
    id="MONGO045",
    title="Chained secondaries keep up",
    topic="replication",
    check=check,
    source="MongoDB manual, Manage Chained Replication (2024)",
    applies=in_set,
    good={
        "server.role": "primary",
        "replication.chained_count": 0,
        "replication.chained_examples": "",
        "replication.lag_s_max": 0.0,
        "replication.lag_member": "",
    },
    bad={
        "server.role": "primary",
        "replication.chained_count": 1,
        "replication.chained_examples": "db3:27017",
        "replication.lag_s_max": 40.0,
        "replication.lag_member": "db3:27017",
    },
)
