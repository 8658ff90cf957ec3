"""VK038: Replicas make whole copies again and again

What it checks: fewer than ten whole copies were made, or most replicas could catch up from the backlog.

Why it matters: each whole copy forks, writes all data and sends it.

Remedy: a larger repl-backlog-size, and a larger limit for replicas in client-output-buffer-limit.

Risk: memory.

References: Valkey manual, INFO (sync_full, sync_partial_err) and Replication (2024).
"""

from dbdyno.engines.valkey.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

COPIES_MAX = 10


def check(facts: Facts) -> Finding | None:
    whole, caught_up = facts.number("status.sync_full"), facts.number("status.sync_partial_ok")
    missed = facts.number("status.sync_partial_err")
    if whole < COPIES_MAX or missed <= caught_up:
        return None
    return Finding(
        says=f"{whole:.0f} whole copies; the backlog was too short {missed:.0f} times, and not {caught_up:.0f} times.",
        severity=Severity.ADVICE,
        fixes=(by_hand("repl-backlog-size", "CONFIG SET repl-backlog-size …"),),
    )


RULE = Rule(
    id="VK038",
    title="Replicas catch up from the backlog",
    topic="replication",
    check=check,
    source="Valkey manual, INFO (2024)",
    good={"status.sync_full": 1, "status.sync_partial_ok": 20, "status.sync_partial_err": 1},
    bad={"status.sync_full": 50, "status.sync_partial_ok": 2, "status.sync_partial_err": 40},
)
