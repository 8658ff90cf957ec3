"""INNO035: The change buffer is on

What it checks: innodb_change_buffering is none where the data lies on flash, or on any MariaDB before 11 that still
has it.

Why it matters: it puts off reads that flash does quickly, and its merge comes when the server is busiest; several
faults that corrupted secondary indexes after a crash were of this code.

Remedy: none.

Risk: bulk inserts into tables with many secondary indexes on rotating disks become slower.

References: MariaDB 10.5.15, 10.6.7 (2022): default none because of corruption; MySQL 8.4 release notes (2024):
default none.
"""

from dbdyno.engines._mysql.rules._setting import exists, mariadb, setting, since
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    value = facts.text("setting.innodb_change_buffering").lower()
    spins = not mariadb(facts) and facts.flag("host.disk_rotational")
    if value == "none" or spins:
        return None
    return Finding(
        says=f"innodb_change_buffering is {value}.",
        severity=Severity.WARNING if mariadb(facts) else Severity.ADVICE,
        fixes=(setting(facts, "innodb_change_buffering", "none"),),
    )


RULE = Rule(
    id="INNO035",
    title="The change buffer is off on flash",
    topic="writing",
    check=check,
    source="MariaDB 10.6.7 release notes (2022); MySQL 8.4 release notes (2024)",
    applies=lambda facts: (
        since(facts, mysql=50500, maria=100200, below=110000) and exists(facts, "innodb_change_buffering")
    ),
    good={"server.version": 1101119, "setting.innodb_change_buffering": "none"},
    bad={"server.version": 1101119, "setting.innodb_change_buffering": "all"},
)
