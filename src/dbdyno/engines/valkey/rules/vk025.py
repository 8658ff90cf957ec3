"""VK025: The last snapshot failed

What it checks: rdb_last_bgsave_status is ok.

Why it matters: there is no recent file to start from, and the server may refuse writes.

Remedy: the server's log says why: mostly a full disk, a right, or a fork that was refused memory
(vm.overcommit_memory).

Risk: none.

References: Valkey manual, Persistence, and Administration, overcommit_memory (2024).
"""

from dbdyno.engines.valkey.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if facts.text("status.rdb_last_bgsave_status") == "ok":
        return None
    return Finding(
        says="The last snapshot failed.",
        severity=Severity.CRITICAL,
        fixes=(by_hand("BGSAVE", "read the server's log, mend the cause, then BGSAVE"),),
    )


RULE = Rule(
    id="VK025",
    title="The last snapshot went well",
    topic="durability",
    check=check,
    source="Valkey manual, Persistence (2024)",
    good={"status.rdb_last_bgsave_status": "ok"},
    bad={"status.rdb_last_bgsave_status": "err"},
)
