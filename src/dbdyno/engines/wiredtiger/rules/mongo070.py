"""MONGO070: the version is no longer mended

What it checks: the series has not reached its end of life.

Why it matters: faults that lose data or let strangers in stay.

Remedy: Go up series by series (each needs featureCompatibilityVersion of the one before), secondaries first.

Risk: a downgrade is hard after featureCompatibilityVersion was raised: test before.

References: MongoDB Software Lifecycle Schedules (2026)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    ends, now = facts.number("server.end_of_life_unix_s"), facts.number("check.unix_s")
    series = facts.text("server.series")
    if now < ends:
        return None
    return Finding(
        says=f"{series} reached its end of life {(now - ends) / 86400:.0f} days ago.",
        severity=Severity.WARNING,
        fixes=(by_hand("version", "// install the next series, member by member"),),
    )


RULE = Rule(
    id="MONGO070",
    title="The version is still mended",
    topic="version",
    check=check,
    source="MongoDB Software Lifecycle Schedules (2026)",
    good={"server.end_of_life_unix_s": 1800000000.0, "check.unix_s": 1790000000.0, "server.series": "7.0"},
    bad={"server.end_of_life_unix_s": 1700000000.0, "check.unix_s": 1790000000.0, "server.series": "5.0"},
)
