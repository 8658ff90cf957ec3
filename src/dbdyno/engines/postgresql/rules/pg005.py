"""PG005: The log is not forced to the disk in a safe way

What it checks: wal_sync_method is one of those that are safe on Linux.

Why it matters: Another method may return before the log is on the disk; then fsync = on promises nothing.

Remedy: Use fdatasync, the default on Linux.

Risk: None beside the time that a real flush takes.

References: PostgreSQL 15 manual, section 30.1 and 20.5 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule

SAFE = ("fdatasync", "fsync", "open_datasync", "open_sync")


def check(facts: Facts) -> Finding | None:
    word = facts.text("setting.wal_sync_method")
    if word in SAFE:
        return None
    return Finding(
        says=f"wal_sync_method is {word}, which does not force the log to the disk on Linux.",
        severity=Severity.CRITICAL,
        durability=Level.L3,
        fixes=(setting(facts, "wal_sync_method", "fdatasync"),),
    )


RULE = Rule(
    id="PG005",
    title="The way of flushing the log is safe",
    topic="durability",
    check=check,
    source="PostgreSQL 15 manual, 20.5 (2022)",
    good={"setting.wal_sync_method": "fdatasync"},
    bad={"setting.wal_sync_method": "fsync_writethrough"},
)
