"""MY060: There are anonymous accounts

What it checks: no account has an empty name.

Why it matters: everybody who reaches the server may log in, and such an account takes the place of others that come
from the same host.

Remedy: DROP USER.

Risk: programs that use it are refused.

References: MySQL 8.0 manual, 2.9.4 (2023).
"""

from dbdyno.engines._mysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("security.anonymous_count"), facts.text("security.anonymous_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} accounts have no name: {examples}.",
        severity=Severity.CRITICAL,
        fixes=(by_hand("my060", "DROP USER ''@'…';"),),
    )


RULE = Rule(
    id="MY060",
    title="No account is anonymous",
    topic="security",
    check=check,
    source="MySQL 8.0 manual, 2.9.4 (2023)",
    good={"security.anonymous_count": 0, "security.anonymous_examples": ""},
    bad={"security.anonymous_count": 2, "security.anonymous_examples": "''@'%'"},
)
