"""PG122: The configuration files have errors

What it checks: Every line of the configuration files can be used.

Why it matters: The server runs with the old values, and will not start again.

Remedy: Mend the lines that are named, then reload.

Risk: None.

References: PostgreSQL 15 manual, pg_file_settings (2022)
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("server.file_errors_count"), facts.text("server.file_errors_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} lines of the configuration cannot be used: {examples}.",
        severity=Severity.CRITICAL,
        fixes=(by_hand("configuration", "SELECT * FROM pg_file_settings WHERE error IS NOT NULL;"),),
    )


RULE = Rule(
    id="PG122",
    title="The configuration files are without errors",
    topic="configuration",
    check=check,
    source="PostgreSQL 15 manual, pg_file_settings (2022)",
    good={"server.file_errors_count": 0, "server.file_errors_examples": ""},
    bad={"server.file_errors_count": 1, "server.file_errors_examples": "postgresql.conf line 7: syntax error"},
)
