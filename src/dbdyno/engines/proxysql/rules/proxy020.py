"""PROXY020: Servers are shunned

What it checks: no server is SHUNNED.

Why it matters: it gets no traffic: the others take it, or nobody.

Remedy: look at the error of the monitor and of the pool; a lag beyond max_replication_lag shuns too.

Risk: none.

References: ProxySQL documentation, Main (runtime) (2024).
"""

from dbdyno.engines.proxysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("backends.shunned_count"), facts.text("backends.shunned_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} servers are shunned: {examples}.",
        severity=Severity.CRITICAL,
        fixes=(
            by_hand(
                "mysql_servers", "SELECT * FROM monitor.mysql_server_ping_log ORDER BY time_start_us DESC LIMIT 10;"
            ),
        ),
    )


RULE = Rule(
    id="PROXY020",
    title="No server is shunned",
    topic="availability",
    check=check,
    source="ProxySQL documentation, Main (runtime) (2024)",
    good={"backends.shunned_count": 0, "backends.shunned_examples": ""},
    bad={"backends.shunned_count": 1, "backends.shunned_examples": "db2:3306 SHUNNED"},
)
