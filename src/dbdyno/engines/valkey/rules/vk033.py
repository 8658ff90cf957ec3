"""VK033: The replica has lost its primary

What it checks: master_link_status is up on a replica.

Why it matters: it answers with old data, and each minute makes it older.

Remedy: the server's log says why: the network, a password (primaryauth), a primary that cannot fork.

Risk: none.

References: Valkey manual, INFO, replication (2024).
"""

from dbdyno.engines.valkey.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if facts.text("status.master_link_status") == "up":
        return None
    return Finding(
        says="The link to the primary is down.",
        severity=Severity.CRITICAL,
        fixes=(by_hand("replicaof", "INFO replication; read the logs of both servers"),),
    )


RULE = Rule(
    id="VK033",
    title="The replica follows its primary",
    topic="replication",
    check=check,
    source="Valkey manual, INFO (2024)",
    applies=lambda facts: facts.text("server.role") == "replica",
    good={"server.role": "replica", "status.master_link_status": "up"},
    bad={"server.role": "replica", "status.master_link_status": "down"},
)
