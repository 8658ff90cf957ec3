"""MY015: An error of the binary log is ignored

What it checks: binlog_error_action is ABORT_SERVER.

Why it matters: with IGNORE_ERROR the server goes on without a binary log: replicas and recovery to a point in time
end there, and only the log says so.

Remedy: ABORT_SERVER, the default since MySQL 5.7.7.

Risk: a full disk of the binary log stops the server.

References: MySQL 8.0 manual, 17.1.6.4 (2023).
"""

from dbdyno.engines._mysql.rules._setting import setting, since
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if facts.text("setting.binlog_error_action").upper() == "ABORT_SERVER":
        return None
    return Finding(
        says="binlog_error_action ignores errors: the server goes on without a binary log.",
        severity=Severity.CRITICAL,
        durability=Level.L3,
        fixes=(setting(facts, "binlog_error_action", "ABORT_SERVER"),),
    )


RULE = Rule(
    id="MY015",
    title="A binary log that cannot be written stops the server",
    topic="durability",
    check=check,
    source="MySQL 8.0 manual, 17.1.6.4 (2023)",
    applies=lambda facts: since(facts, mysql=50622),
    good={"server.version": 80036, "setting.binlog_error_action": "ABORT_SERVER"},
    bad={"server.version": 80036, "setting.binlog_error_action": "IGNORE_ERROR"},
)
