"""MY046: Temporary tables go to the disk

What it checks: fewer than a quarter of the temporary tables, and fewer than one a second, went to the disk.

Why it matters: such a statement writes and reads what it could hold in memory.

Remedy: find the statements (sys.statements_with_temp_tables); fewer columns, an index for the sort. Only then raise
tmp_table_size.

Risk: none.

References: MySQL 8.0 manual, 8.4.4 (2023).
"""

from dbdyno.engines._mysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    disk, all_ = facts.number("status.created_tmp_disk_tables"), facts.number("status.created_tmp_tables")
    uptime = facts.number("server.uptime_s")
    if disk < 0.25 * all_ or disk < uptime or uptime < 3600:
        return None
    return Finding(
        says=f"{disk / max(all_, 1):.0%} of the temporary tables went to the disk, {disk / uptime:.1f} a second.",
        severity=Severity.ADVICE,
        fixes=(by_hand("tmp_table_size", "SELECT * FROM sys.statements_with_temp_tables LIMIT 10;"),),
    )


RULE = Rule(
    id="MY046",
    title="Temporary tables stay in memory",
    topic="memory",
    check=check,
    source="MySQL 8.0 manual, 8.4.4 (2023)",
    good={"status.created_tmp_disk_tables": 10, "status.created_tmp_tables": 1000, "server.uptime_s": 86400},
    bad={"status.created_tmp_disk_tables": 900000, "status.created_tmp_tables": 1000000, "server.uptime_s": 86400},
)
