"""PG094: Extensions are older than their files

What it checks: Every extension has the version that is installed on the machine.

Why it matters: The functions in the database are those of an older version: fixes are missing, and some fail after the
next upgrade.

Remedy: ALTER EXTENSION … UPDATE.

Risk: Read the extension's notes.

References: PostgreSQL 15 manual, ALTER EXTENSION (2022)
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count = facts.number("server.extensions_outdated_count")
    examples = facts.text("server.extensions_outdated_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} extensions can be updated: {examples}.",
        severity=Severity.ADVICE,
        fixes=(by_hand("extension", "ALTER EXTENSION … UPDATE;"),),
    )


RULE = Rule(
    id="PG094",
    title="Extensions are up to date",
    topic="version",
    check=check,
    source="PostgreSQL 15 manual, ALTER EXTENSION (2022)",
    good={"server.extensions_outdated_count": 0, "server.extensions_outdated_examples": ""},
    bad={"server.extensions_outdated_count": 1, "server.extensions_outdated_examples": "pg_stat_statements 1.7"},
)
