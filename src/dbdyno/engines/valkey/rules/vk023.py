"""VK023: Nothing is flushed while a child writes

What it checks: no-appendfsync-on-rewrite is no.

Why it matters: during each snapshot and rewrite the append-only file is as if appendfsync were no.

Remedy: no-appendfsync-on-rewrite no.

Risk: flushes wait for the child's writes on a slow disk; auto-aof-rewrite-percentage makes rewrites rarer.

References: valkey.conf 8.0, no-appendfsync-on-rewrite (2024).
"""

from dbdyno.engines.valkey.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if not facts.flag("setting.no-appendfsync-on-rewrite"):
        return None
    return Finding(
        says="no-appendfsync-on-rewrite is yes: nothing is flushed while a snapshot or a rewrite runs.",
        fixes=(setting(facts, "no-appendfsync-on-rewrite", "no"),),
        durability=Level.L3,
    )


RULE = Rule(
    id="VK023",
    title="Flushing goes on while a child writes",
    topic="durability",
    check=check,
    source="valkey.conf 8.0, no-appendfsync-on-rewrite (2024)",
    applies=lambda facts: facts.flag("setting.appendonly"),
    good={"setting.appendonly": "yes", "setting.no-appendfsync-on-rewrite": "no"},
    bad={"setting.appendonly": "yes", "setting.no-appendfsync-on-rewrite": "yes"},
)
