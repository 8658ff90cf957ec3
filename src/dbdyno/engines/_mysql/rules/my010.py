"""MY010: There is no binary log

What it checks: log_bin is on.

Why it matters: without it a backup can be rolled forward to no later moment, and no replica can follow.

Remedy: log-bin in the option file, with an expiry, and copy the files elsewhere (mysqlbinlog
--read-from-remote-server --raw --stop-never). A server whose data can be made again may do without.

Risk: a restart; each commit writes and flushes one file more, and the disk needs room for the days that are kept.

References: "MySQL/ZFS Performance Update" (Percona, 2018) leaves it out in a benchmark only; MySQL 8.0 manual, 5.4.4
(2023).
"""

from dbdyno.engines._mysql.rules._setting import binary_log, by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if binary_log(facts):
        return None
    return Finding(
        says="log_bin is off: no recovery to a point in time, and no replica.",
        severity=Severity.ADVICE,
        fixes=(by_hand("log_bin", "[server] log-bin = binlog, server-id = …; then restart and take a new backup"),),
    )


RULE = Rule(
    id="MY010",
    title="There is a binary log",
    topic="backup",
    check=check,
    source="MySQL 8.0 manual, 5.4.4 The Binary Log (2023)",
    good={"setting.log_bin": "ON"},
    bad={"setting.log_bin": "OFF"},
)
