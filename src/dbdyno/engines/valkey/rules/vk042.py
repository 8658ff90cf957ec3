"""VK042: Dead peers are never noticed

What it checks: tcp-keepalive or timeout is on.

Why it matters: connections of machines that vanished stay for ever, until maxclients is reached.

Remedy: tcp-keepalive 300.

Risk: a packet every five minutes.

References: valkey.conf 8.0, tcp-keepalive (2024).
"""

from dbdyno.engines.valkey.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    idle_s, alive_s = facts.number("setting.timeout"), facts.number("setting.tcp-keepalive")
    if idle_s or alive_s:
        return None
    return Finding(
        says="timeout and tcp-keepalive are 0: connections of vanished peers stay for ever.",
        fixes=(setting(facts, "tcp-keepalive", 300),),
    )


RULE = Rule(
    id="VK042",
    title="Dead peers are noticed",
    topic="connections",
    check=check,
    source="valkey.conf 8.0, tcp-keepalive (2024)",
    good={"setting.timeout": 0, "setting.tcp-keepalive": 300},
    bad={"setting.timeout": 0, "setting.tcp-keepalive": 0},
)
