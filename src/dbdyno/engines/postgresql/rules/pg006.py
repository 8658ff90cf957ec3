"""PG006: Switches for repair are on

What it checks: zero_damaged_pages, ignore_checksum_failure and data_sync_retry are off.

Why it matters: They exist to rescue what can be rescued from a broken cluster. In daily work they turn damage into
silent loss of rows, or a failed flush into a success.

Remedy: Switch them off. If they were on for a reason, that reason needs a backup that is known to be good.

Risk: Reading a damaged page fails again, as it should.

References: PostgreSQL 15 manual, sections 20.14 and 20.17 (2022); the failure of fsync on Linux: PostgreSQL wiki,
Fsync Errors (2018).
"""

from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule

NAMES = ("zero_damaged_pages", "ignore_checksum_failure", "data_sync_retry")


def check(facts: Facts) -> Finding | None:
    on = [name for name, flag in [(name, facts.flag(f"setting.{name}")) for name in NAMES] if flag]
    if not on:
        return None
    return Finding(
        says=f"{', '.join(on)} on: damage passes in silence.",
        severity=Severity.CRITICAL,
        durability=Level.L3,
        fixes=tuple(setting(facts, name, "off") for name in on),
    )


RULE = Rule(
    id="PG006",
    title="No switch for repair is on",
    topic="durability",
    check=check,
    source="PostgreSQL 15 manual, 20.17 (2022)",
    good={
        "setting.zero_damaged_pages": "off",
        "setting.ignore_checksum_failure": "off",
        "setting.data_sync_retry": "off",
    },
    bad={
        "setting.zero_damaged_pages": "on",
        "setting.ignore_checksum_failure": "off",
        "setting.data_sync_retry": "off",
    },
)
