"""MONGO025: writes are slowed down for lagging members

What it checks: flow control does not throttle now (flowControl.isLagged, since 4.2).

Why it matters: the primary slows its own writes when the majority's commit point falls 10 s behind: the members'
disks set the pace.

Remedy: Find why the secondary lags (disk, long reads on it, an index build). Switching flow control off lets the lag
grow and pins the cache.

Risk: none by looking.

References: MongoDB manual, Replication: Flow Control (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand, version
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if not facts.flag("status.flowControl.isLagged"):
        return None
    return Finding(
        says="Flow control is slowing the writes of this primary for members that lag.",
        fixes=(by_hand("flowControl", "rs.printSecondaryReplicationInfo()"),),
    )


RULE = Rule(
    id="MONGO025",
    title="No writes are slowed down for a lagging member",
    topic="replication",
    check=check,
    source="MongoDB manual, Replication: Flow Control (2024)",
    applies=lambda facts: facts.text("server.role") == "primary" and version(facts) >= 40200,
    good={"server.role": "primary", "server.version": 70012, "status.flowControl.isLagged": False},
    bad={"server.role": "primary", "server.version": 70012, "status.flowControl.isLagged": True},
)
