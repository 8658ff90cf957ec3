"""PG050: Autovacuum is off

What it checks: autovacuum and track_counts are on.

Why it matters: Dead rows pile up, statistics grow stale, and in the end the server forces a vacuum at the worst moment
or stops taking transactions. The article switches it off only while loading.

Remedy: Switch both on; if vacuum hurts, slow it down by its cost settings instead.

Risk: Vacuum will have much to do at first.

References: Tuning PostgreSQL for sysbench-tpcc (Percona, 2018); PostgreSQL 15 manual, section 25.1 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    states = {name: facts.flag(f"setting.{name}") for name in ("autovacuum", "track_counts")}
    off = [name for name, state in states.items() if not state]
    if not off:
        return None
    return Finding(
        says=f"{' and '.join(off)} off: dead rows pile up, and transaction numbers run out.",
        severity=Severity.CRITICAL,
        fixes=tuple(setting(facts, name, "on") for name in off),
    )


RULE = Rule(
    id="PG050",
    title="Autovacuum is on",
    topic="vacuum",
    check=check,
    source="Tuning PostgreSQL for sysbench-tpcc (Percona, 2018); PostgreSQL 15 manual, 25.1 (2022)",
    good={"setting.autovacuum": "on", "setting.track_counts": "on"},
    bad={"setting.autovacuum": "off", "setting.track_counts": "on"},
)
