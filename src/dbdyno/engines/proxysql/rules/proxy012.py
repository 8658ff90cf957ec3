"""PROXY012: Variables were changed and never loaded

What it checks: the layer in memory and the running one have the same variables.

Why it matters: somebody thinks that the change is in force; the next LOAD by anybody makes it so.

Remedy: LOAD … VARIABLES TO RUNTIME, or FROM RUNTIME to throw the change away.

Risk: the change comes into force.

References: ProxySQL documentation, Multi-layer configuration system (2024).
"""

from dbdyno.engines.proxysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("config.not_loaded_count"), facts.text("config.not_loaded_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} variables were changed and are not in force: {examples}.",
        severity=Severity.ADVICE,
        fixes=(by_hand("LOAD", "LOAD MYSQL VARIABLES TO RUNTIME; LOAD ADMIN VARIABLES TO RUNTIME;"),),
    )


RULE = Rule(
    id="PROXY012",
    title="What was changed is in force",
    topic="configuration",
    check=check,
    source="ProxySQL documentation, Multi-layer configuration system (2024)",
    good={"config.not_loaded_count": 0, "config.not_loaded_examples": ""},
    bad={"config.not_loaded_count": 1, "config.not_loaded_examples": "mysql-max_connections"},
)
