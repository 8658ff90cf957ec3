"""VK035: A primary that keeps nothing would empty its replicas

What it checks: a primary with replicas has snapshots or an append-only file.

Why it matters: when it is restarted it is empty, and so are its replicas a moment later: their copies are lost with
it.

Remedy: persistence on the primary; or no restart by itself (Restart=no) and a replica that takes its place.

Risk: a child that writes needs memory and disk.

References: Valkey manual, Replication, "Safety of replication when primary has persistence turned off" (2024).
"""

from dbdyno.engines.valkey.rules._setting import by_hand, forks
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    kept, replicas = forks(facts), facts.number("replication.replicas_count")
    if kept:
        return None
    return Finding(
        says=f"Nothing is kept on disk here, and {replicas:.0f} replicas would copy the emptiness after a restart.",
        severity=Severity.CRITICAL,
        fixes=(by_hand("appendonly", "CONFIG SET appendonly yes; CONFIG REWRITE", undo="CONFIG SET appendonly no"),),
        durability=Level.L2,
    )


RULE = Rule(
    id="VK035",
    title="A restart does not empty the replicas",
    topic="replication",
    check=check,
    source="Valkey manual, Replication (2024)",
    applies=lambda facts: facts.number("replication.replicas_count") > 0,
    good={"replication.replicas_count": 1, "setting.save": "3600 1", "setting.appendonly": "no"},
    bad={"replication.replicas_count": 1, "setting.save": "", "setting.appendonly": "no"},
)
