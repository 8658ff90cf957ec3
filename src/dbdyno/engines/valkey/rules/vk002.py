"""VK002: The version has known faults

What it checks: the table of faults that lose data or let strangers in has none for this version.

Why it matters: each of them is public, and mended in a later release of the same series or the next.

Remedy: update within the series. Until then, take the commands concerned from those who do not need them (ACL SETUSER
… -@scripting).

Risk: a restart, or a switch to a replica that was updated first. A distribution may have mended its own build under
the old number: its change log says so.

References: the table advisories.toml of this folder, with its sources and dates (2020 to 2026).
"""

from dbdyno.engines.valkey.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("server.faults_count"), facts.text("server.faults_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} known faults: {examples}.",
        severity=Severity.CRITICAL,
        confidence=0.8,
        fixes=(by_hand("version", "update the server within its series"),),
    )


RULE = Rule(
    id="VK002",
    title="The version has no known faults",
    topic="version",
    check=check,
    source="release notes and CVE records of both products (2020 to 2026)",
    good={"server.faults_count": 0, "server.faults_examples": ""},
    bad={
        "server.faults_count": 1,
        "server.faults_examples": "a script may run any program as the server (mended in 7.2.11; 2025)",
    },
)
