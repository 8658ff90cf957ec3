"""PG002: full_page_writes is off

What it checks: full_page_writes is on.

Why it matters: after a checkpoint the first change of a page puts the whole page into the log. Without that image a
page of which a loss of power wrote only one half cannot be repaired: the table is corrupt, and nothing says so.

Remedy: switch it on. If the log grows too much, use wal_compression and a longer way between checkpoints instead.

Risk: more log is written after each checkpoint.

References: "Tuning PostgreSQL for sysbench-tpcc" (Percona, 2018) keeps it on and doubts even copy-on-write file
systems; PostgreSQL 15 manual, section 20.5 (2022). The article on MySQL and ZFS that takes page images for needless on
a copy-on-write file system speaks of another engine and proves nothing by a crash; until it is proven here it stays on.
"""

from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if facts.flag("setting.full_page_writes"):
        return None
    return Finding(
        says="full_page_writes is off: a page torn by a loss of power cannot be repaired.",
        severity=Severity.CRITICAL,
        durability=Level.L3,
        fixes=(setting(facts, "full_page_writes", "on"),),
    )


RULE = Rule(
    id="PG002",
    title="Pages are protected against torn writes",
    topic="durability",
    check=check,
    source="Tuning PostgreSQL for sysbench-tpcc (Percona, 2018); PostgreSQL 15 manual, 20.5 (2022)",
    good={"setting.full_page_writes": "on"},
    bad={"setting.full_page_writes": "off"},
)
