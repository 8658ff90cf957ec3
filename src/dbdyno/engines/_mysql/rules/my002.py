"""MY002: This release has a fault that loses data

What it checks: the release is none of those that are known to lose data or not to start again.

Why it matters: the fault may have struck already; what to do stands with it.

Remedy: update to the release that mends it, and look for the damage.

Risk: that of an update within the series.

References: the table advisories.toml of this folder, each row with its release notes and year (2022 to 2024).
"""

from dbdyno.engines._mysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("server.faults_count"), facts.text("server.faults_examples")
    if not count:
        return None
    return Finding(
        says=f"Known faults of this release: {examples}.",
        severity=Severity.CRITICAL,
        fixes=(by_hand("version", "update to the release that mends it"),),
    )


RULE = Rule(
    id="MY002",
    title="This release has no known fault that loses data",
    topic="version",
    check=check,
    source="release notes named in advisories.toml (2024)",
    good={"server.faults_count": 0, "server.faults_examples": ""},
    bad={"server.faults_count": 1, "server.faults_examples": "x"},
)
