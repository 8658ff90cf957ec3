"""VK040: Connections are nearly used up

What it checks: fewer than four fifths of maxclients are connected.

Why it matters: whoever comes next is refused.

Remedy: find who keeps connections (CLIENT LIST), give programs a pool of their own, then raise maxclients with the
limit of open files.

Risk: each connection takes memory beside maxmemory.

References: Valkey manual, Clients (2024).
"""

from dbdyno.engines.valkey.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule

SHARE_MAX = 0.8


def check(facts: Facts) -> Finding | None:
    connected, most = facts.number("status.connected_clients"), facts.number("setting.maxclients")
    if connected <= most * SHARE_MAX:
        return None
    return Finding(
        says=f"{connected:.0f} of {most:.0f} connections are in use.",
        fixes=(by_hand("maxclients", "CLIENT LIST; CONFIG SET maxclients …"),),
    )


RULE = Rule(
    id="VK040",
    title="There is room for connections",
    topic="connections",
    check=check,
    source="Valkey manual, Clients (2024)",
    good={"status.connected_clients": 10, "setting.maxclients": 10000},
    bad={"status.connected_clients": 9900, "setting.maxclients": 10000},
)
