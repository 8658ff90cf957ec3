"""VK026: The append-only file cannot be written or rewritten

What it checks: the last write and the last rewrite went well.

Why it matters: a write that fails makes the server refuse writes; without rewrites the file grows until the disk is
full.

Remedy: the server's log says why: mostly a full disk, a right, or a fork that was refused memory.

Risk: none.

References: Valkey manual, INFO and Persistence (2024).
"""

from dbdyno.engines.valkey.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    parts = {"rewrite": "status.aof_last_bgrewrite_status", "write": "status.aof_last_write_status"}
    failed = [word for word, name in parts.items() if facts.text(name) != "ok"]
    if not failed:
        return None
    return Finding(
        says=f"The last {' and the last '.join(failed)} of the append-only file failed.",
        severity=Severity.CRITICAL,
        fixes=(by_hand("BGREWRITEAOF", "read the server's log, mend the cause, then BGREWRITEAOF"),),
    )


RULE = Rule(
    id="VK026",
    title="The append-only file is well",
    topic="durability",
    check=check,
    source="Valkey manual, INFO (2024)",
    applies=lambda facts: facts.number("status.aof_enabled") == 1,
    good={"status.aof_enabled": 1, "status.aof_last_bgrewrite_status": "ok", "status.aof_last_write_status": "ok"},
    bad={"status.aof_enabled": 1, "status.aof_last_bgrewrite_status": "err", "status.aof_last_write_status": "ok"},
)
