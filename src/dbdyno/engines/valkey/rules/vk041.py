"""VK041: Connections were refused

What it checks: rejected_connections is 0.

Why it matters: programs saw errors, at least once since the start.

Remedy: find who keeps connections (CLIENT LIST, clients that are idle), then raise maxclients with the limit of open
files.

Risk: each connection takes memory beside maxmemory.

References: Valkey manual, INFO (2024): rejected for maxclients.
"""

from dbdyno.engines.valkey.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    refused, most = facts.number("status.rejected_connections"), facts.number("setting.maxclients")
    if not refused:
        return None
    return Finding(
        says=f"{refused:.0f} connections were refused since the start (maxclients {most:.0f}).",
        fixes=(by_hand("maxclients", "CLIENT LIST; CONFIG SET maxclients …"),),
    )


RULE = Rule(
    id="VK041",
    title="No connection was refused",
    topic="connections",
    check=check,
    source="Valkey manual, INFO (2024)",
    good={"status.rejected_connections": 0, "setting.maxclients": 10000},
    bad={"status.rejected_connections": 7, "setting.maxclients": 100},
)
