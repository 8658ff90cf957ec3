"""VK037: Replication times out between two signs of life

What it checks: repl-timeout is at least three times repl-ping-replica-period.

Why it matters: a link without traffic is cut off, and each time the replica has to catch up.

Remedy: repl-timeout 60, with a period of 10.

Risk: a dead peer is noticed later.

References: valkey.conf 8.0, repl-timeout (2024).
"""

from dbdyno.engines.valkey.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule

TIMES_MIN, TIMES_WANTED = 3, 6


def check(facts: Facts) -> Finding | None:
    patience, period = facts.number("setting.repl-timeout"), facts.number("setting.repl-ping-replica-period")
    if patience >= period * TIMES_MIN:
        return None
    return Finding(
        says=f"repl-timeout is {patience:.0f} s, and signs of life come every {period:.0f} s.",
        fixes=(setting(facts, "repl-timeout", int(max(60, period * TIMES_WANTED))),),
    )


RULE = Rule(
    id="VK037",
    title="Replication waits longer than between two signs of life",
    topic="replication",
    check=check,
    source="valkey.conf 8.0, repl-timeout (2024)",
    good={"setting.repl-timeout": 60, "setting.repl-ping-replica-period": 10},
    bad={"setting.repl-timeout": 5, "setting.repl-ping-replica-period": 10},
)
