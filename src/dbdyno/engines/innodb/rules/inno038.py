"""INNO038: Statistics are refreshed whenever somebody looks

What it checks: innodb_stats_on_metadata is off, innodb_stats_auto_recalc and innodb_stats_persistent are on.

Why it matters: on: SHOW TABLE STATUS reads pages of every table and plans may change by being looked at. Without
recalculation plans grow old.

Remedy: off, on, on.

Risk: none.

References: "InnoDB Performance Optimization Basics" (Percona, 2023).
"""

from dbdyno.engines._mysql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    wanted = {"innodb_stats_on_metadata": False, "innodb_stats_auto_recalc": True, "innodb_stats_persistent": True}
    wrong = [name for name, one in [(n, facts.flag(f"setting.{n}")) for n in wanted] if one is not wanted[name]]
    if not wrong:
        return None
    return Finding(
        says=f"{', '.join(wrong)}: not as {'it' if len(wrong) == 1 else 'they'} should be.",
        severity=Severity.ADVICE,
        fixes=tuple(setting(facts, name, "ON" if wanted[name] else "OFF") for name in wrong),
    )


RULE = Rule(
    id="INNO038",
    title="Looking at metadata refreshes no statistics",
    topic="statistics",
    check=check,
    source="InnoDB Performance Optimization Basics (Percona, 2023)",
    good={
        "setting.innodb_stats_on_metadata": "OFF",
        "setting.innodb_stats_auto_recalc": "ON",
        "setting.innodb_stats_persistent": "ON",
    },
    bad={
        "setting.innodb_stats_on_metadata": "ON",
        "setting.innodb_stats_auto_recalc": "ON",
        "setting.innodb_stats_persistent": "ON",
    },
)
