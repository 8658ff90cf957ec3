"""PG051: Transaction numbers run out

What it checks: The oldest unfrozen transaction of every database is well within what autovacuum allows.

Why it matters: Transaction numbers are reused after two thousand million. The server stops taking writes a few million
before that, so that no row vanishes.

Remedy: VACUUM (FREEZE) the database that is named, and find what held it back: a long transaction, a forgotten
replication slot, a prepared transaction, a vacuum that is too slow.

Risk: Much reading and writing while it runs.

References: PostgreSQL 15 manual, section 25.1.5 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

LATE = 1.25
"""Autovacuum begins at the limit itself; a quarter beyond, it does not keep up."""
DANGER = 1_200_000_000


def check(facts: Facts) -> Finding | None:
    age, multi = facts.number("status.xid_age_max"), facts.number("status.mxid_age_max")
    where = facts.text("status.xid_age_database")
    limit = facts.number("setting.autovacuum_freeze_max_age")
    limit_multi = facts.number("setting.autovacuum_multixact_freeze_max_age")
    if age <= LATE * limit and multi <= LATE * limit_multi and max(age, multi) < DANGER:
        return None
    return Finding(
        says=f"The oldest transaction of database {where} is {age / 1e6:.0f} million old (multixacts "
        f"{multi / 1e6:.0f}); the server stops at about 2,100 million.",
        severity=Severity.CRITICAL if max(age, multi) >= DANGER else Severity.WARNING,
        fixes=(by_hand("freeze", "VACUUM (FREEZE, VERBOSE); -- in that database"),),
    )


RULE = Rule(
    id="PG051",
    title="Transaction numbers are far from their end",
    topic="vacuum",
    check=check,
    source="PostgreSQL 15 manual, 25.1.5 (2022)",
    good={
        "status.xid_age_max": 150000000,
        "status.mxid_age_max": 1000,
        "status.xid_age_database": "shop",
        "setting.autovacuum_freeze_max_age": 200000000,
        "setting.autovacuum_multixact_freeze_max_age": 400000000,
    },
    bad={
        "status.xid_age_max": 1600000000,
        "status.mxid_age_max": 1000,
        "status.xid_age_database": "shop",
        "setting.autovacuum_freeze_max_age": 200000000,
        "setting.autovacuum_multixact_freeze_max_age": 400000000,
    },
)
