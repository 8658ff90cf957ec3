"""VK051: The server wakes up too often or too rarely

What it checks: hz is from 10 to 100.

Why it matters: below 10 keys that ended and clients that timed out are found late; above 100 the server is busy while
it has nothing to do.

Remedy: hz 10, with dynamic-hz.

Risk: none.

References: valkey.conf 8.0, hz (2024).
"""

from dbdyno.engines.valkey.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

LOW, HIGH = 10, 100


def check(facts: Facts) -> Finding | None:
    hz = facts.number("setting.hz")
    if LOW <= hz <= HIGH:
        return None
    return Finding(
        says=f"hz is {hz:.0f}; {LOW} to {HIGH} are reasonable.",
        severity=Severity.ADVICE,
        fixes=(setting(facts, "hz", LOW),),
    )


RULE = Rule(
    id="VK051",
    title="The server wakes up as often as it should",
    topic="performance",
    check=check,
    source="valkey.conf 8.0, hz (2024)",
    good={"setting.hz": 10},
    bad={"setting.hz": 500},
)
