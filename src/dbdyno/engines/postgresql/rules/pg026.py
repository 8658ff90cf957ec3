"""PG026: The log's buffer runs full

What it checks: Less than one in a hundred pages of log is written because wal_buffers is full.

Why it matters: A transaction that finds the buffer full writes it out itself, in the middle of its work.

Remedy: 64 MiB.

Risk: A restart, and the memory.

References: PostgreSQL 15 manual, sections 20.5 and 30.5 (2022)
"""

from dbdyno.engines.postgresql.memory import MIB, PAGE_BYTES
from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule

ENOUGH_PAGES = 8192


def check(facts: Facts) -> Finding | None:
    full, pages = facts.number("status.wal_buffers_full"), facts.number("status.wal_bytes") / PAGE_BYTES
    buffers = facts.number("setting.wal_buffers")
    if full < 1000 or full < 0.01 * pages or buffers >= ENOUGH_PAGES:
        return None
    return Finding(
        says=f"The buffer of {buffers * PAGE_BYTES / MIB:.1f} MiB was full {full:.0f} times in {pages:.0f} pages.",
        fixes=(setting(facts, "wal_buffers", ENOUGH_PAGES),),
    )


RULE = Rule(
    id="PG026",
    title="The log's buffer is large enough",
    topic="wal",
    check=check,
    applies=lambda facts: facts.number("server.version") >= 140000,
    source="PostgreSQL 15 manual, 30.5 (2022)",
    good={
        "server.version": 150000,
        "status.wal_buffers_full": 10,
        "status.wal_bytes": 10000000000.0,
        "setting.wal_buffers": 2048,
    },
    bad={
        "server.version": 150000,
        "status.wal_buffers_full": 90000,
        "status.wal_bytes": 10000000000.0,
        "setting.wal_buffers": 512,
    },
)
