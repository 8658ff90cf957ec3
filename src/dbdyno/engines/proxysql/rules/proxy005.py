"""PROXY005: The monitor does not reach a server

What it checks: the last sign of life of each server was none of an error.

Why it matters: a server that is not seen is shunned, or stays in use although it is dead; often only the monitor's
password is wrong.

Remedy: look at the error: an account that is missing on the server, a name, the network.

Risk: none.

References: ProxySQL documentation, Monitor (2024).
"""

from dbdyno.engines.proxysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("monitor.failing_count"), facts.text("monitor.failing_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} servers do not answer the monitor: {examples}.",
        severity=Severity.CRITICAL,
        fixes=(
            by_hand("monitor", "SELECT * FROM monitor.mysql_server_ping_log ORDER BY time_start_us DESC LIMIT 10;"),
        ),
    )


RULE = Rule(
    id="PROXY005",
    title="The monitor reaches all servers",
    topic="availability",
    check=check,
    source="ProxySQL documentation, Monitor (2024)",
    good={"monitor.failing_count": 0, "monitor.failing_examples": ""},
    bad={"monitor.failing_count": 1, "monitor.failing_examples": "db1:3306: Access denied for user 'monitor'"},
)
