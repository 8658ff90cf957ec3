"""PROXY022: Connections to servers fail

What it checks: of a hundred connections to servers at most one failed.

Why it matters: each failure is waited for by a program, or seen by it.

Remedy: look at the server's max_connections and its accounts; mysql-connect_timeout_server; names that resolve
slowly.

Risk: none.

References: ProxySQL documentation, stats_mysql_connection_pool (2024).
"""

from dbdyno.engines.proxysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule

SHARE_MAX, LEAST = 0.01, 10


def check(facts: Facts) -> Finding | None:
    failed, made = facts.number("pool.failed_count"), facts.number("pool.made_count")
    examples = facts.text("pool.failed_examples")
    if failed < LEAST or failed <= (failed + made) * SHARE_MAX:
        return None
    return Finding(
        says=f"{failed:.0f} of {failed + made:.0f} connections to servers failed: {examples}.",
        fixes=(by_hand("pool", "SELECT * FROM stats_mysql_errors; SELECT * FROM stats_mysql_connection_pool;"),),
    )


RULE = Rule(
    id="PROXY022",
    title="Connections to servers are made",
    topic="connections",
    check=check,
    source="ProxySQL documentation, stats schema, stats_mysql_connection_pool (2024)",
    good={"pool.failed_count": 0, "pool.made_count": 1000, "pool.failed_examples": ""},
    bad={"pool.failed_count": 500, "pool.made_count": 1000, "pool.failed_examples": "db1:3306 500 times"},
)
