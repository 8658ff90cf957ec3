"""PROXY006: Accounts without a password

What it checks: no account of the traffic has an empty password.

Why it matters: everybody who reaches the port may be that user.

Remedy: a password for each.

Risk: programs that use it are refused until they have it.

References: ProxySQL documentation, Main (runtime), mysql_users (2024).
"""

from dbdyno.engines.proxysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("security.no_password_count"), facts.text("security.no_password_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} accounts have no password: {examples}.",
        severity=Severity.CRITICAL,
        fixes=(by_hand("mysql_users", "UPDATE mysql_users SET password = …; then LOAD and SAVE MYSQL USERS"),),
    )


RULE = Rule(
    id="PROXY006",
    title="Each account has a password",
    topic="security",
    check=check,
    source="ProxySQL documentation, Main (runtime), mysql_users (2024)",
    good={"security.no_password_count": 0, "security.no_password_examples": ""},
    bad={"security.no_password_count": 1, "security.no_password_examples": "app"},
)
