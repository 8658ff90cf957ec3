"""PROXY002: The password of the statistics is the one that everybody knows

What it checks: admin-stats_credentials does not hold stats:stats.

Why it matters: statistics show statements, accounts and addresses.

Remedy: another password.

Risk: tools that read them need the new one.

References: ProxySQL documentation, Global variables (2024).
"""

from dbdyno.engines.proxysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if not facts.flag("security.default_stats"):
        return None
    return Finding(
        says="The account stats has the password stats.",
        severity=Severity.WARNING,
        fixes=(
            by_hand(
                "admin-stats_credentials", "SET admin-stats_credentials = 'stats:…'; then LOAD and SAVE ADMIN VARIABLES"
            ),
        ),
    )


RULE = Rule(
    id="PROXY002",
    title="The password of the statistics is not the default one",
    topic="security",
    check=check,
    source="ProxySQL documentation, Global variables (2024)",
    good={"security.default_stats": False},
    bad={"security.default_stats": True},
)
