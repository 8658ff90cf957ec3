"""PG001: fsync is off

What it checks: fsync is on.

Why it matters: Without it the server never forces anything to the disk. A loss of power, or a crash of the system, can
destroy the whole cluster beyond repair.

Remedy: Switch it on. Before that nothing on this server can be believed to survive.

Risk: Commits wait for the disk again: throughput may fall to what the disk really does.

References: Tuning PostgreSQL for sysbench-tpcc (Percona, 2018) files off under unsafe; PostgreSQL 15 manual, section
20.5 (2022). Several tuners set it to off; none of their figures counts.
"""

from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if facts.flag("setting.fsync"):
        return None
    return Finding(
        says="fsync is off: a loss of power can destroy the whole cluster.",
        severity=Severity.CRITICAL,
        durability=Level.L3,
        fixes=(setting(facts, "fsync", "on"),),
    )


RULE = Rule(
    id="PG001",
    title="What is committed is forced to the disk",
    topic="durability",
    check=check,
    source="Tuning PostgreSQL for sysbench-tpcc (Percona, 2018); PostgreSQL 15 manual, 20.5 (2022)",
    good={"setting.fsync": "on"},
    bad={"setting.fsync": "off"},
)
