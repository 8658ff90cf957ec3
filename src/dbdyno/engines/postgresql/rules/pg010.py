"""PG010: Archiving fails

What it checks: The last attempt to archive a log file succeeded.

Why it matters: Every log file since is kept. Recovery to a point in time ends where the archive ends, and the disk
fills until the server stops.

Remedy: Read the server's log for the command's words, mend the archive, and see failed_count stand still.

Risk: None.

References: PostgreSQL 15 manual, section 26.3 and pg_stat_archiver (2022)
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    failed, kept = facts.number("status.archive_failed_count"), facts.number("status.archived_count")
    if not facts.flag("status.archive_failing"):
        return None
    return Finding(
        says=f"The archiver fails: {failed:.0f} failures beside {kept:.0f} files archived, the last attempt too.",
        severity=Severity.CRITICAL,
        fixes=(by_hand("archiver", "SELECT * FROM pg_stat_archiver;"),),
    )


RULE = Rule(
    id="PG010",
    title="Archiving works",
    topic="backup",
    check=check,
    source="PostgreSQL 15 manual, 26.3 (2022)",
    good={"status.archive_failing": False, "status.archive_failed_count": 0, "status.archived_count": 5},
    bad={"status.archive_failing": True, "status.archive_failed_count": 812, "status.archived_count": 5},
)
