"""VK003: The configuration file uses old names

What it checks: no line of the file is a name that has a successor in this version.

Why it matters: the old names are kept for compatibility only; two names of one setting in one file hide which one
counts (the last).

Remedy: rename the lines.

Risk: none, as long as the version stays; an older server does not know the new names.

References: release notes of Redis 5.0 (2018: replica instead of slave) and 7.0 (2022: listpack instead of ziplist);
valkey.conf 8.0 (2024: primary instead of master).
"""

from dbdyno.engines.valkey.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("config.old_names_count"), facts.text("config.old_names_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} lines use an old name: {examples}.",
        severity=Severity.ADVICE,
        fixes=(by_hand("old names", f"in the configuration file: {examples}"),),
    )


RULE = Rule(
    id="VK003",
    title="The file uses present names",
    topic="version",
    check=check,
    source="Redis 5.0 and 7.0 release notes (2018, 2022)",
    good={"config.old_names_count": 0, "config.old_names_examples": ""},
    bad={"config.old_names_count": 1, "config.old_names_examples": "slaveof is replicaof now"},
)
