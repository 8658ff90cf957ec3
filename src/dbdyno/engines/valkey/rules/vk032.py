"""VK032: A replica takes writes

What it checks: replica-read-only is yes on a replica.

Why it matters: what is written there is in no other server, and is lost with the next whole copy.

Remedy: replica-read-only yes.

Risk: programs that write there are refused.

References: Valkey manual, Replication, "Read-only replica" (2024).
"""

from dbdyno.engines.valkey.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if facts.flag("setting.replica-read-only"):
        return None
    return Finding(
        says="This replica takes writes of its own (replica-read-only is no).",
        fixes=(setting(facts, "replica-read-only", "yes"),),
    )


RULE = Rule(
    id="VK032",
    title="Replicas are read only",
    topic="replication",
    check=check,
    source="Valkey manual, Replication (2024)",
    applies=lambda facts: facts.text("server.role") == "replica",
    good={"server.role": "replica", "setting.replica-read-only": "yes"},
    bad={"server.role": "replica", "setting.replica-read-only": "no"},
)
