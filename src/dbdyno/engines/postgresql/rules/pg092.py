"""PG092: Settings are used that later versions do not have

What it checks: No setting of the configuration is gone in a later major version.

Why it matters: After the upgrade the server does not start, or does not do what was meant.

Remedy: Take them out, and use what is named instead.

Risk: None.

References: PostgreSQL release notes 13 to 17 (2020 to 2024)
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("server.deprecated_count"), facts.text("server.deprecated_examples")
    if not count:
        return None
    return Finding(
        says=f"{examples}.",
        severity=Severity.ADVICE,
        fixes=(by_hand("deprecated", "ALTER SYSTEM RESET …; -- and out of the files"),),
    )


RULE = Rule(
    id="PG092",
    title="No setting is on its way out",
    topic="version",
    check=check,
    source="PostgreSQL release notes 13 to 17 (2020 to 2024)",
    good={"server.deprecated_count": 0, "server.deprecated_examples": ""},
    bad={"server.deprecated_count": 1, "server.deprecated_examples": "old_snapshot_threshold is gone in 17"},
)
