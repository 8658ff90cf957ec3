"""PROXY021: Servers were taken out and forgotten

What it checks: no server is OFFLINE.

Why it matters: it gets no traffic until somebody brings it back.

Remedy: bring it back when its maintenance is over, or remove it.

Risk: traffic comes to it.

References: ProxySQL documentation, Main (runtime) (2024).
"""

from dbdyno.engines.proxysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("backends.offline_count"), facts.text("backends.offline_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} servers are offline: {examples}.",
        severity=Severity.ADVICE,
        fixes=(
            by_hand(
                "mysql_servers", "UPDATE mysql_servers SET status = 'ONLINE' WHERE …; then LOAD and SAVE MYSQL SERVERS"
            ),
        ),
    )


RULE = Rule(
    id="PROXY021",
    title="No server is offline",
    topic="availability",
    check=check,
    source="ProxySQL documentation, Main (runtime) (2024)",
    good={"backends.offline_count": 0, "backends.offline_examples": ""},
    bad={"backends.offline_count": 1, "backends.offline_examples": "db3:3306 OFFLINE_SOFT"},
)
