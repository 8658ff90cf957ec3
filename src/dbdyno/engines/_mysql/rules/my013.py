"""MY013: Binary logs are never removed

What it checks: binlog_expire_logs_seconds or expire_logs_days is above 0 where there is a binary log.

Why it matters: the files fill the disk, and a full disk stops the server.

Remedy: seven days, or longer than the time between two full backups.

Risk: a replica that is away for longer has to be built anew.

References: MySQL 8.0 manual, 17.1.6.4 (2023): 30 days by default; MariaDB: never by default (2024).
"""

from dbdyno.engines._mysql.rules._setting import binary_log, setting, since
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    days = facts.number("setting.expire_logs_days") if facts.has("setting.expire_logs_days") else 0.0
    if since(facts, mysql=80001, maria=100601):
        name, value = "binlog_expire_logs_seconds", 7 * 86400
    else:
        name, value = "expire_logs_days", 7
    if facts.number(f"setting.{name}") > 0 or days > 0:
        return None
    return Finding(says=f"{name} is 0: binary logs fill the disk.", fixes=(setting(facts, name, value),))


RULE = Rule(
    id="MY013",
    title="Binary logs expire",
    topic="backup",
    check=check,
    source="MySQL 8.0 manual, 17.1.6.4 (2023); MariaDB manual, binlog_expire_logs_seconds (2024)",
    applies=binary_log,
    good={"server.version": 80036, "setting.log_bin": "ON", "setting.binlog_expire_logs_seconds": 2592000},
    bad={"server.version": 80036, "setting.log_bin": "ON", "setting.binlog_expire_logs_seconds": 0},
)
