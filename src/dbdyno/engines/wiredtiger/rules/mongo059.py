"""MONGO059: the flight recorder is off

What it checks: diagnosticDataCollectionEnabled is true.

Why it matters: its files (diagnostic.data) are what support asks for first; they cost less than 1 % and 200 MB.

Remedy: Switch it on.

Risk: 200 MB of disk.

References: MongoDB manual, Full Time Diagnostic Data Capture (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if facts.flag("setting.setParameter.diagnosticDataCollectionEnabled"):
        return None
    return Finding(
        says="diagnosticDataCollectionEnabled is false: after an incident there is nothing to look at.",
        severity=Severity.ADVICE,
        fixes=(setting(facts, "setParameter.diagnosticDataCollectionEnabled", "true"),),
    )


RULE = Rule(
    id="MONGO059",
    title="The flight recorder is on",
    topic="operations",
    check=check,
    source="MongoDB manual, Full Time Diagnostic Data Capture (2024)",
    good={"setting.setParameter.diagnosticDataCollectionEnabled": "true"},
    bad={"setting.setParameter.diagnosticDataCollectionEnabled": "false"},
)
