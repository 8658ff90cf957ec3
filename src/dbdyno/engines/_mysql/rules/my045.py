"""MY045: Foreign keys or unique keys are not checked

What it checks: foreign_key_checks and unique_checks are on as global values.

Why it matters: they are for loading a dump. Left off for everybody, rows without parents and duplicates get in, and
no later check finds them.

Remedy: switch both on; look for orphans.

Risk: statements that were wrong before fail.

References: MySQL 8.0 manual, 5.1.8 (2023).
"""

from dbdyno.engines._mysql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    names = ("foreign_key_checks", "unique_checks")
    off = [name for name, on in [(name, facts.flag(f"setting.{name}")) for name in names] if not on]
    if not off:
        return None
    return Finding(
        says=f"{', '.join(off)} off for everybody.",
        severity=Severity.CRITICAL,
        durability=Level.L3,
        fixes=tuple(setting(facts, name, "ON") for name in off),
    )


RULE = Rule(
    id="MY045",
    title="Keys are checked",
    topic="durability",
    check=check,
    source="MySQL 8.0 manual, 5.1.8 (2023)",
    good={"setting.foreign_key_checks": "ON", "setting.unique_checks": "ON"},
    bad={"setting.foreign_key_checks": "OFF", "setting.unique_checks": "ON"},
)
