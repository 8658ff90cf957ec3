"""MONGO073: options are gone, or soon will be

What it checks: no option that somebody set is gone from this or a later version.

Why it matters: a server with an option that it does not know does not start after the upgrade.

Remedy: Take the lines out, or write what took their place.

Risk: none, where the replacement means the same.

References: MongoDB manual, Configuration File Settings and Command-Line Options Mapping (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("server.deprecated_count"), facts.text("server.deprecated_examples")
    if not count:
        return None
    return Finding(
        says=f"Out of date: {examples}.",
        severity=Severity.ADVICE,
        fixes=(by_hand("mongod.conf", "// take these lines out of mongod.conf"),),
    )


RULE = Rule(
    id="MONGO073",
    title="No option is out of date",
    topic="version",
    check=check,
    source="MongoDB manual, Configuration File Settings and Command-Line Options Mapping (2024)",
    good={"server.deprecated_count": 0, "server.deprecated_examples": ""},
    bad={"server.deprecated_count": 1, "server.deprecated_examples": "storage.mmapv1.smallFiles is gone in 4.2"},
)
