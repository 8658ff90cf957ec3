"""MONGO022: connections are near their limit

What it checks: fewer than 80 % of the connections that the server takes are open.

Why it matters: the next ones are refused, also those of other members and of monitoring.

Remedy: Bound the pools of the clients; then raise net.maxIncomingConnections and the limit of open files together.

Risk: each connection takes up to 1 MiB of stack.

References: MongoDB manual, serverStatus and Connection Pool Performance Tuning (2024); Tuning Linux for MongoDB
(Percona, 2016) on the limit of files
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    current, free = facts.number("status.connections.current"), facts.number("status.connections.available")
    if current < 0.8 * (current + free):
        return None
    return Finding(
        says=f"{current:.0f} of {current + free:.0f} connections are open.",
        fixes=(by_hand("net.maxIncomingConnections", "db.serverStatus().connections"),),
    )


RULE = Rule(
    id="MONGO022",
    title="There is room for more connections",
    topic="connections",
    check=check,
    source="MongoDB manual, serverStatus (2024)",
    good={"status.connections.current": 100, "status.connections.available": 51100},
    bad={"status.connections.current": 900, "status.connections.available": 100},
)
