"""PROXY023: A server's connections are used up

What it checks: no server ever used nine tenths of its max_connections here.

Why it matters: whoever needs one more waits until mysql-connect_timeout_server_max, then gets an error.

Remedy: more max_connections for the server here, below its own limit together with all other proxies; or why so many
are held (PROXY030).

Risk: the server must take as many: the sum over all proxies counts.

References: ProxySQL documentation, Main (runtime) (2024).
"""

from dbdyno.engines.proxysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("pool.full_count"), facts.text("pool.full_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} servers had nearly all connections in use: {examples}.",
        severity=Severity.WARNING,
        fixes=(
            by_hand(
                "max_connections",
                "UPDATE mysql_servers SET max_connections = … WHERE …; then LOAD and SAVE MYSQL SERVERS",
            ),
        ),
    )


RULE = Rule(
    id="PROXY023",
    title="There is room for connections to servers",
    topic="connections",
    check=check,
    source="ProxySQL documentation, Main (runtime) (2024)",
    good={"pool.full_count": 0, "pool.full_examples": ""},
    bad={"pool.full_count": 1, "pool.full_examples": "db1:3306 200 of 200"},
)
