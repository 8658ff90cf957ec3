"""PG043: Statistics are too coarse

What it checks: default_statistics_target is at least 100.

Why it matters: With few sampled values the planner misjudges how many rows a condition leaves, and chooses wrong
joins.

Remedy: 100, the default.

Risk: ANALYZE takes a little longer.

References: PostgreSQL 15 manual, section 20.7.4 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    target = facts.number("setting.default_statistics_target")
    if target >= 100:
        return None
    return Finding(
        says=f"default_statistics_target is {target:.0f}.",
        fixes=(setting(facts, "default_statistics_target", 100),),
    )


RULE = Rule(
    id="PG043",
    title="Statistics are fine enough",
    topic="planner",
    check=check,
    source="PostgreSQL 15 manual, 20.7.4 (2022)",
    good={"setting.default_statistics_target": 100},
    bad={"setting.default_statistics_target": 10},
)
