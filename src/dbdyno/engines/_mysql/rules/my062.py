"""MY062: Superusers may come from elsewhere

What it checks: accounts with SUPER (root) are bound to localhost.

Why it matters: one stolen or guessed password then gives all data and the files of the server to anybody in the
network.

Remedy: an account of its own with few privileges for what comes over the network; root at localhost only.

Risk: programs that use it are refused.

References: MySQL 8.0 manual, 6.1.1 (2023).
"""

from dbdyno.engines._mysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("security.remote_super_count"), facts.text("security.remote_super_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} superusers may log in from other hosts: {examples}.",
        severity=Severity.WARNING,
        fixes=(by_hand("my062", "RENAME USER …@'%' TO …@'localhost'; -- or revoke SUPER"),),
    )


RULE = Rule(
    id="MY062",
    title="Superusers come from this machine only",
    topic="security",
    check=check,
    source="MySQL 8.0 manual, 6.1.1 (2023)",
    good={"security.remote_super_count": 0, "security.remote_super_examples": ""},
    bad={"security.remote_super_count": 2, "security.remote_super_examples": "''@'%'"},
)
