"""PG121: ALTER SYSTEM overrides the files

What it checks: No setting of postgresql.auto.conf differs from the configuration files.

Why it matters: Whoever edits or deploys the files believes that they hold; they do not.

Remedy: Decide for one place: ALTER SYSTEM RESET the name, or take it out of the file.

Risk: The value of the file comes into force.

References: PostgreSQL 15 manual, section 20.1.2 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("server.drift_count"), facts.text("server.drift_examples")
    if not count:
        return None
    return Finding(
        says=f"ALTER SYSTEM overrides {count:.0f} settings of the files: {examples}.",
        severity=Severity.ADVICE,
        fixes=(by_hand("drift", "ALTER SYSTEM RESET …; SELECT pg_reload_conf();"),),
    )


RULE = Rule(
    id="PG121",
    title="ALTER SYSTEM and the files agree",
    topic="configuration",
    check=check,
    source="PostgreSQL 15 manual, 20.1.2 (2022)",
    good={"server.drift_count": 0, "server.drift_examples": ""},
    bad={"server.drift_count": 1, "server.drift_examples": "work_mem = 4MB (file) but 64MB"},
)
