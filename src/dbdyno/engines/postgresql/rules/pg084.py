"""PG084: Reads and writes are not timed

What it checks: track_io_timing is on.

Why it matters: Without it EXPLAIN, pg_stat_statements and autovacuum's log cannot tell waiting for the disk from
working.

Remedy: Switch it on where the clock is quick (pg_test_timing; the clock source tsc).

Risk: With a slow clock source it can cost much: measure with pg_test_timing first.

References: PostgreSQL 15 manual, section 20.9 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if facts.flag("setting.track_io_timing"):
        return None
    return Finding(
        says="track_io_timing is off: waiting for the disk cannot be told from work.",
        severity=Severity.ADVICE,
        fixes=(setting(facts, "track_io_timing", "on"),),
    )


RULE = Rule(
    id="PG084",
    title="Reads and writes are timed",
    topic="statistics",
    check=check,
    source="PostgreSQL 15 manual, 20.9 (2022)",
    good={"setting.track_io_timing": "on"},
    bad={"setting.track_io_timing": "off"},
)
