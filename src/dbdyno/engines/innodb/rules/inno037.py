"""INNO037: Log writer threads are on for few processors

What it checks: innodb_log_writer_threads is off on machines of fewer than 32 processors.

Why it matters: the threads of their own pay on large machines with many sessions; on small ones each commit pays
their switches.

Remedy: switch it off and compare; the manual recommends it for low concurrency.

Risk: none; it changes while the server runs.

References: MySQL 8.0 manual, 15.14, since 8.0.22 (2023): dedicated threads help at high concurrency and cost at low;
8.4 (2024) makes the default depend on processors: on from 32.
"""

from dbdyno.engines._mysql.rules._setting import setting, since
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    cores = facts.number("host.cpu_count")
    if not facts.flag("setting.innodb_log_writer_threads") or cores >= 32:
        return None
    return Finding(
        says=f"innodb_log_writer_threads is on with {cores:.0f} processors.",
        severity=Severity.ADVICE,
        fixes=(setting(facts, "innodb_log_writer_threads", "OFF"),),
    )


RULE = Rule(
    id="INNO037",
    title="Log writer threads fit the processors",
    topic="writing",
    check=check,
    source="MySQL 8.0 manual, 15.14 (2023); MySQL 8.4 release notes (2024)",
    applies=lambda facts: since(facts, mysql=80022),
    good={"server.version": 80036, "setting.innodb_log_writer_threads": "OFF", "host.cpu_count": 8},
    bad={"server.version": 80036, "setting.innodb_log_writer_threads": "ON", "host.cpu_count": 8},
)
