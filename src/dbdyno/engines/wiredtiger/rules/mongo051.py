"""MONGO051: slow operations are not logged, or all are

What it checks: the threshold for slow operations is between 10 and 1000 ms.

Why it matters: above a second what hurts goes unseen; below 10 ms the log grows with the load.

Remedy: 100 ms, the default; lower with a sample rate while looking for something.

Risk: the log grows.

References: MongoDB manual, operationProfiling.slowOpThresholdMs (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    slow = facts.number("setting.operationProfiling.slowOpThresholdMs")
    if 10 <= slow <= 1000:
        return None
    return Finding(
        says=f"Operations are called slow from {slow:.0f} ms on.",
        severity=Severity.ADVICE,
        fixes=(setting(facts, "operationProfiling.slowOpThresholdMs", 100),),
    )


RULE = Rule(
    id="MONGO051",
    title="Slow operations are in the log",
    topic="operations",
    check=check,
    source="MongoDB manual, Configuration File Options (2024)",
    good={"setting.operationProfiling.slowOpThresholdMs": "100"},
    bad={"setting.operationProfiling.slowOpThresholdMs": "5000"},
)
