"""PG011: Damaged pages were read

What it checks: No page failed its checksum.

Why it matters: A page came back from the disk different from what was written: disk, controller, memory or a bug.
Where one is found, more may be.

Remedy: Take the server out of service, check the hardware, run pg_checksums --check, and restore what is damaged from
a good backup.

Risk: None: going on is the risk.

References: PostgreSQL 15 manual, section 30.2 and pg_stat_database (2022)
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    failures = facts.number("status.checksum_failures")
    if not failures:
        return None
    return Finding(
        says=f"{failures:.0f} pages failed their checksum.",
        severity=Severity.CRITICAL,
        fixes=(by_hand("checksums", "SELECT datname, checksum_failures FROM pg_stat_database;"),),
    )


RULE = Rule(
    id="PG011",
    title="No page failed its checksum",
    topic="durability",
    check=check,
    source="PostgreSQL 15 manual, 30.2 (2022)",
    good={"status.checksum_failures": 0},
    bad={"status.checksum_failures": 3},
)
