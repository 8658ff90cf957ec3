"""INNO005: Switches for repair are on

What it checks: innodb_force_recovery is 0, innodb_force_load_corrupted, innodb_read_only are off,
innodb_fast_shutdown is not 2.

Why it matters: they rescue what can be rescued from a broken database. In daily work they skip undo, purge or redo
and turn damage into silent loss. A shutdown of kind 2 is a crash on purpose.

Remedy: set them to their defaults; if they were set for a reason, dump the data and load it anew.

Risk: a server that is really damaged does not start any more, as it should.

References: MySQL 8.0 manual, 15.21.3 (2023); "MySQL/ZFS Performance Update" (Percona, 2018) uses fast shutdown 2 for
data that is thrown away.
"""

from dbdyno.engines._mysql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    wanted = {"innodb_force_recovery": "0", "innodb_fast_shutdown": "1"}
    bad = {}
    if (level := facts.number("setting.innodb_force_recovery")) > 0:
        bad["innodb_force_recovery"] = f"{level:g}"
    if facts.number("setting.innodb_fast_shutdown") == 2:
        bad["innodb_fast_shutdown"] = "2"
    for name in ("innodb_force_load_corrupted", "innodb_read_only"):
        if facts.has(f"setting.{name}") and facts.flag(f"setting.{name}"):
            bad[name] = "ON"
    if not bad:
        return None
    return Finding(
        says=f"{', '.join(f'{name} = {value}' for name, value in bad.items())}.",
        severity=Severity.CRITICAL,
        durability=Level.L3,
        fixes=tuple(setting(facts, name, int(wanted[name]) if name in wanted else "OFF") for name in bad),
    )


RULE = Rule(
    id="INNO005",
    title="No switch for repair is on",
    topic="durability",
    check=check,
    source="MySQL 8.0 manual, 15.21.3 (2023)",
    good={"setting.innodb_force_recovery": 0, "setting.innodb_fast_shutdown": 1},
    bad={"setting.innodb_force_recovery": 3, "setting.innodb_fast_shutdown": 1},
)
