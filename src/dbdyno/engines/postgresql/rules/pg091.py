"""PG091: The version has a known fault that loses data

What it checks: No fault of advisories.toml is in this version.

Why it matters: The fault is published, mended in a later minor release, and may already have done its damage here.

Remedy: Update to the newest minor release, and do what the note says for damage that is done.

Risk: A restart of the server.

References: PostgreSQL release notes, with dates in advisories.toml (2022 and later).
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("server.faults_count"), facts.text("server.faults_examples")
    version = facts.text("server.version_text")
    if not count:
        return None
    return Finding(
        says=f"Version {version}: {examples}.",
        severity=Severity.CRITICAL,
        fixes=(by_hand("update", "install the newest minor release, then restart"),),
    )


RULE = Rule(
    id="PG091",
    title="No fault that loses data is known in this version",
    topic="version",
    check=check,
    source="PostgreSQL release notes (2022 and later)",
    good={"server.faults_count": 0, "server.faults_examples": "", "server.version_text": "15.18"},
    bad={
        "server.faults_count": 1,
        "server.faults_examples": "indexes made CONCURRENTLY can miss rows",
        "server.version_text": "14.2",
    },
)
