"""MY032: The replica passes over errors

What it checks: slave_skip_errors (replica_skip_errors) is OFF and slave_exec_mode (replica_exec_mode) is STRICT.

Why it matters: changes that fail are skipped: the copy differs from its source, and nothing says so.

Remedy: OFF and STRICT; compare the data (pt-table-checksum) before it is trusted again.

Risk: replication stops where it was wrong already.

References: MySQL 8.0 manual, 17.1.6.3 (2023).
"""

from dbdyno.engines._mysql.rules._setting import setting, since
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Fix, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    new = since(facts, mysql=80026)
    skip, mode = ("replica_skip_errors", "replica_exec_mode") if new else ("slave_skip_errors", "slave_exec_mode")
    skipped, executes = facts.text(f"setting.{skip}"), facts.text(f"setting.{mode}")
    fixes: tuple[Fix, ...] = (setting(facts, skip, "OFF"),) if skipped.upper() not in ("OFF", "") else ()
    fixes += (setting(facts, mode, "STRICT"),) if executes.upper() != "STRICT" else ()
    if not fixes:
        return None
    return Finding(
        says=f"{skip} = {skipped}, {mode} = {executes}: the replica differs in silence.",
        severity=Severity.CRITICAL,
        fixes=fixes,
    )


RULE = Rule(
    id="MY032",
    title="The replica stops at errors",
    topic="replication",
    check=check,
    source="MySQL 8.0 manual, 17.1.6.3 (2023)",
    good={"server.version": 1101119, "setting.slave_skip_errors": "OFF", "setting.slave_exec_mode": "STRICT"},
    bad={"server.version": 1101119, "setting.slave_skip_errors": "1062", "setting.slave_exec_mode": "STRICT"},
)
