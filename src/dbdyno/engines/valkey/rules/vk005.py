"""VK005: The file says something else than the server runs with

What it checks: each setting of the configuration file has the value that is in force.

Why it matters: the next start takes the file's value: a change that was only made live is lost, one that was only
written is not in force.

Remedy: CONFIG REWRITE keeps what runs; a restart takes what is written. Settings given on the command line differ
rightly.

Risk: CONFIG REWRITE writes the file in the server's own form, keeping its comments.

References: "Valkey/Redis Configurations and Persistent Setting of the Key Parameters" (2024); Valkey manual, CONFIG
REWRITE (2024).
"""

from dbdyno.engines.valkey.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("config.differs_count"), facts.text("config.differs_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} settings of the file are not in force: {examples}.",
        severity=Severity.WARNING,
        fixes=(by_hand("CONFIG REWRITE", "CONFIG REWRITE"),),
    )


RULE = Rule(
    id="VK005",
    title="What runs is what is written",
    topic="configuration",
    check=check,
    source="Valkey manual, CONFIG REWRITE (2024)",
    good={"config.differs_count": 0, "config.differs_examples": ""},
    bad={"config.differs_count": 1, "config.differs_examples": "maxmemory"},
)
