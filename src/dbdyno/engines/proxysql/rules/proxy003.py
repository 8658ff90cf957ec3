"""PROXY003: The monitor signs in as monitor, with the password monitor

What it checks: mysql-monitor_username and mysql-monitor_password are not the defaults.

Why it matters: an account with a password that everybody knows is on each server; or there is none, and the monitor
sees nothing.

Remedy: an account of its own on each server (USAGE, and REPLICATION CLIENT for the lag).

Risk: while the password changes, servers may be shunned: set it on the servers first.

References: ProxySQL documentation, Monitor configuration (2024).
"""

from dbdyno.engines.proxysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if not facts.flag("security.default_monitor"):
        return None
    return Finding(
        says="The monitor uses the default account (monitor, monitor).",
        severity=Severity.WARNING,
        fixes=(
            by_hand(
                "mysql-monitor_password",
                "CREATE USER … on the servers; UPDATE global_variables …; then LOAD and SAVE MYSQL VARIABLES",
            ),
        ),
    )


RULE = Rule(
    id="PROXY003",
    title="The monitor has an account of its own",
    topic="security",
    check=check,
    source="ProxySQL documentation, Monitor configuration (2024)",
    good={"security.default_monitor": False},
    bad={"security.default_monitor": True},
)
