"""VK044: Most connections are idle

What it checks: fewer than half of maxclients are connections that were silent for an hour.

Why it matters: each holds a file and memory, and the next program may be refused.

Remedy: pools that let connections go, or timeout 3600 when programs can connect again by themselves.

Risk: with timeout, a program that does not expect it sees a closed connection.

References: Valkey manual, Clients, "Client timeouts" (2024).
"""

from dbdyno.engines.valkey.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

SHARE_MAX = 0.5


def check(facts: Facts) -> Finding | None:
    timeout, most = facts.number("setting.timeout"), facts.number("setting.maxclients")
    count, idle = facts.number("clients.count"), facts.number("clients.idle_count")
    if timeout or idle <= most * SHARE_MAX:
        return None
    return Finding(
        says=f"{idle:.0f} of {count:.0f} connections were silent for an hour; maxclients is {most:.0f}.",
        severity=Severity.ADVICE,
        fixes=(by_hand("timeout", "CONFIG SET timeout 3600", undo="CONFIG SET timeout 0"),),
    )


RULE = Rule(
    id="VK044",
    title="Connections are in use",
    topic="connections",
    check=check,
    source="Valkey manual, Clients (2024)",
    good={"setting.timeout": 0, "setting.maxclients": 10000, "clients.count": 20, "clients.idle_count": 3},
    bad={"setting.timeout": 0, "setting.maxclients": 10000, "clients.count": 8000, "clients.idle_count": 7900},
)
