"""PROXY001: The admin password is the one that everybody knows

What it checks: admin-admin_credentials does not hold admin:admin.

Why it matters: whoever reaches the port may send all traffic elsewhere and read the passwords of all accounts.

Remedy: another password, and an account of its own for each tool.

Risk: tools and scripts that use it need the new one.

References: ProxySQL documentation, Global variables (2024).
"""

from dbdyno.engines.proxysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if not facts.flag("security.default_admin"):
        return None
    return Finding(
        says="The account admin has the password admin.",
        severity=Severity.CRITICAL,
        fixes=(
            by_hand(
                "admin-admin_credentials", "SET admin-admin_credentials = 'admin:…'; then LOAD and SAVE ADMIN VARIABLES"
            ),
        ),
    )


RULE = Rule(
    id="PROXY001",
    title="The admin password is not the default one",
    topic="security",
    check=check,
    source="ProxySQL documentation, Global variables (2024)",
    good={"security.default_admin": False},
    bad={"security.default_admin": True},
)
