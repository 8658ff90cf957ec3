"""MY072: Settings that a cluster does not bear

What it checks: binlog_format is ROW, innodb_autoinc_lock_mode is 2, pxc_strict_mode (where there is one) is ENFORCING
or MASTER.

Why it matters: other formats and locks make nodes differ or wait for each other for ever.

Remedy: ROW, 2, ENFORCING.

Risk: statements that strict mode refuses have to be changed.

References: "Percona XtraDB Cluster 5.7.12 RC1 is now available" (Percona, 2016); Galera manual (2023).
"""

from dbdyno.engines._mysql.rules._setting import exists, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Fix, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    fixes: tuple[Fix, ...] = (
        (setting(facts, "binlog_format", "ROW"),) if facts.text("setting.binlog_format").upper() != "ROW" else ()
    )
    if facts.text("setting.innodb_autoinc_lock_mode") != "2":
        fixes += (setting(facts, "innodb_autoinc_lock_mode", 2),)
    mode = facts.text("setting.pxc_strict_mode") if facts.has("setting.pxc_strict_mode") else "ENFORCING"
    if mode.upper() not in ("ENFORCING", "MASTER"):
        fixes += (setting(facts, "pxc_strict_mode", "ENFORCING"),)
    if not fixes:
        return None
    return Finding(
        says=f"Not for a cluster: {', '.join(f'{fix.name} = {fix.before}' for fix in fixes)}.",
        severity=Severity.CRITICAL,
        fixes=fixes,
    )


RULE = Rule(
    id="MY072",
    title="The settings suit a cluster",
    topic="cluster",
    check=check,
    source="Percona XtraDB Cluster 5.7.12 RC1 is now available (Percona, 2016)",
    applies=lambda facts: exists(facts, "wsrep_on") and facts.flag("setting.wsrep_on"),
    good={"setting.wsrep_on": "ON", "setting.binlog_format": "ROW", "setting.innodb_autoinc_lock_mode": 2},
    bad={"setting.wsrep_on": "ON", "setting.binlog_format": "MIXED", "setting.innodb_autoinc_lock_mode": 1},
)
