"""PROXY004: The monitor is off

What it checks: mysql-monitor_enabled is true.

Why it matters: a server that died gets traffic until connections to it have failed often enough, and a replica that
lags or became a primary is not noticed.

Remedy: mysql-monitor_enabled true.

Risk: the monitor's account must exist on each server.

References: ProxySQL documentation, Monitor configuration (2024).
"""

from dbdyno.engines.proxysql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if facts.flag("setting.mysql-monitor_enabled"):
        return None
    return Finding(
        says="mysql-monitor_enabled is false: nobody watches the servers.",
        fixes=(setting(facts, "mysql-monitor_enabled", "true"),),
    )


RULE = Rule(
    id="PROXY004",
    title="The monitor watches the servers",
    topic="availability",
    check=check,
    source="ProxySQL documentation, Monitor configuration (2024)",
    good={"setting.mysql-monitor_enabled": "true"},
    bad={"setting.mysql-monitor_enabled": "false"},
)
