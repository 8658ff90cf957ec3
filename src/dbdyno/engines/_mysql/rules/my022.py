"""MY022: Connections came near their limit

What it checks: Max_used_connections stayed below 85 % of max_connections.

Why it matters: at the limit new clients are refused, health checks among them.

Remedy: find who holds them (a pool that leaks, sessions that sleep); only then raise the limit, with the memory for
it.

Risk: more connections take more memory.

References: MySQL 8.0 manual, 5.1.12.1 (2023).
"""

from dbdyno.engines._mysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    used, most = facts.number("status.max_used_connections"), facts.number("setting.max_connections")
    if used < 0.85 * most:
        return None
    return Finding(
        says=f"{used:.0f} of {most:.0f} connections were in use at a time.",
        fixes=(
            by_hand(
                "max_connections",
                "SELECT user, host, command, COUNT(*) FROM information_schema.PROCESSLIST GROUP BY 1, 2, 3;",
            ),
        ),
    )


RULE = Rule(
    id="MY022",
    title="Connections stay well below their limit",
    topic="connections",
    check=check,
    source="MySQL 8.0 manual, 5.1.12.1 (2023)",
    good={"status.max_used_connections": 20, "setting.max_connections": 151},
    bad={"status.max_used_connections": 150, "setting.max_connections": 151},
)
