"""MONGO072: the data is kept compatible with an older version

What it checks: featureCompatibilityVersion is that of the server.

Why it matters: new features and some repairs wait; and the next upgrade refuses to start.

Remedy: Once no way back is wanted: setFeatureCompatibilityVersion (with confirm: true since 7.0).

Risk: no downgrade without help afterwards.

References: MongoDB manual, setFeatureCompatibilityVersion (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    own, kept = int(facts.number("server.version")) // 100, int(facts.number("server.feature_version")) // 100
    if kept >= own:
        return None
    word = f"{own // 100}.{own % 100}"
    command = f"db.adminCommand({{setFeatureCompatibilityVersion: '{word}', confirm: true}})"
    return Finding(
        says=f"featureCompatibilityVersion is {kept // 100}.{kept % 100}, the server is {word}.",
        severity=Severity.ADVICE,
        fixes=(by_hand("featureCompatibilityVersion", command),),
    )


RULE = Rule(
    id="MONGO072",
    title="The data is of the server's own version",
    topic="version",
    check=check,
    source="MongoDB manual, setFeatureCompatibilityVersion (2024)",
    good={"server.version": 70012, "server.feature_version": 70000},
    bad={"server.version": 70012, "server.feature_version": 60000},
)
