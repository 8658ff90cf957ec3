"""MONGO023: connections come and go

What it checks: the server made fewer than ten connections a second since its start.

Why it matters: each costs a thread, a TLS handshake and a proof of the password; SCRAM-SHA-256 alone takes
milliseconds of processor.

Remedy: Let clients keep one MongoClient for their whole life, with a pool.

Risk: none.

References: MongoDB manual, Connection Pool Overview (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    made, seconds = facts.number("status.connections.totalCreated"), facts.number("server.uptime_s")
    if seconds < 3600 or made < 10 * seconds:
        return None
    return Finding(
        says=f"{made / seconds:.0f} connections were made each second since the start.",
        fixes=(by_hand("connections", "db.serverStatus().connections.totalCreated // twice"),),
    )


RULE = Rule(
    id="MONGO023",
    title="Connections are kept",
    topic="connections",
    check=check,
    source="MongoDB manual, Connection Pool Overview (2024)",
    good={"status.connections.totalCreated": 5000, "server.uptime_s": 864000},
    bad={"status.connections.totalCreated": 86400000, "server.uptime_s": 864000},
)
