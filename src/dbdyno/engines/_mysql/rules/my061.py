"""MY061: Accounts without a password

What it checks: no account that is open and checks a password has an empty one.

Why it matters: everybody who reaches the server may be that user.

Remedy: ALTER USER … IDENTIFIED BY …, or lock it.

Risk: programs that use it are refused.

References: MySQL 8.0 manual, 2.9.4 (2023).
"""

from dbdyno.engines._mysql.rules._setting import by_hand
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
        fixes=(by_hand("my061", "ALTER USER … IDENTIFIED BY '…';"),),
    )


RULE = Rule(
    id="MY061",
    title="Each account has a password",
    topic="security",
    check=check,
    source="MySQL 8.0 manual, 2.9.4 (2023)",
    good={"security.no_password_count": 0, "security.no_password_examples": ""},
    bad={"security.no_password_count": 2, "security.no_password_examples": "''@'%'"},
)
