"""PROXY010: Variables in force are not on disk

What it checks: the running layer and the one on disk have the same variables.

Why it matters: the next start takes what is on disk: the change is lost, mostly at night.

Remedy: SAVE … VARIABLES TO DISK, when what runs is what is meant.

Risk: none; look at both first.

References: ProxySQL documentation, Multi-layer configuration system (2024).
"""

from dbdyno.engines.proxysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("config.not_saved_count"), facts.text("config.not_saved_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} variables are in force and not saved: {examples}.",
        severity=Severity.WARNING,
        fixes=(by_hand("SAVE", "SAVE MYSQL VARIABLES TO DISK; SAVE ADMIN VARIABLES TO DISK;"),),
    )


RULE = Rule(
    id="PROXY010",
    title="What is in force is on disk",
    topic="configuration",
    check=check,
    source="ProxySQL documentation, Multi-layer configuration system (2024)",
    good={"config.not_saved_count": 0, "config.not_saved_examples": ""},
    bad={"config.not_saved_count": 1, "config.not_saved_examples": "mysql-max_connections"},
)
