"""INNO002: Torn pages cannot be repaired

What it checks: innodb_doublewrite is on.

Why it matters: a page of which a loss of power wrote only one half is corrupt, and the redo log cannot repair it: it
holds changes, not pages.

Remedy: switch it on. On flash storage it costs some bandwidth, seldom more.

Risk: each page is written twice; a restart.

References: "MySQL/ZFS Performance Update" (Percona, 2018) switches it off since that file system writes whole
records; the contradiction is resolved for safety: it stays on unless a power-loss proof on that very file system
passes. MySQL 8.0 manual, 15.6.4 (2023): DETECT_ONLY finds torn pages and cannot repair them.
"""

from dbdyno.engines._mysql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    value = facts.text("setting.innodb_doublewrite")
    if value.upper() in ("ON", "1", "DETECT_AND_RECOVER", "FAST", "TRUE"):
        return None
    return Finding(
        says=f"innodb_doublewrite is {value}: a page torn by a loss of power cannot be repaired.",
        severity=Severity.CRITICAL,
        durability=Level.L3,
        fixes=(setting(facts, "innodb_doublewrite", "ON"),),
    )


RULE = Rule(
    id="INNO002",
    title="Pages are protected against torn writes",
    topic="durability",
    check=check,
    source="MySQL 8.0 manual, 15.6.4 (2023); MySQL/ZFS Performance Update (Percona, 2018)",
    good={"setting.innodb_doublewrite": "ON"},
    bad={"setting.innodb_doublewrite": "OFF"},
)
