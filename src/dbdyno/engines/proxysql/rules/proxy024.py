"""PROXY024: Connections of programs are nearly used up

What it checks: fewer than four fifths of mysql-max_connections are connected.

Why it matters: whoever comes next is refused.

Remedy: a higher mysql-max_connections with the limit of open files (two for each connection).

Risk: memory for each connection.

References: ProxySQL documentation, Global variables, mysql-max_connections (2024).
"""

from dbdyno.engines.proxysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule

SHARE_MAX = 0.8


def check(facts: Facts) -> Finding | None:
    connected, most = facts.number("status.client_connections_connected"), facts.number("setting.mysql-max_connections")
    if connected <= most * SHARE_MAX:
        return None
    return Finding(
        says=f"{connected:.0f} of {most:.0f} connections are in use.",
        fixes=(
            by_hand(
                "mysql-max_connections",
                "UPDATE global_variables SET variable_value = … ; LOAD MYSQL VARIABLES TO RUNTIME;",
            ),
        ),
    )


RULE = Rule(
    id="PROXY024",
    title="There is room for programs",
    topic="connections",
    check=check,
    source="ProxySQL documentation, Global variables (2024)",
    good={"status.client_connections_connected": 10, "setting.mysql-max_connections": 2048},
    bad={"status.client_connections_connected": 2040, "setting.mysql-max_connections": 2048},
)
