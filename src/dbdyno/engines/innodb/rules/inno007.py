"""INNO007: Recovery compresses pages anew

What it checks: innodb_log_compressed_pages is on, where the server has it and there may be compressed tables.

Why it matters: when it is off the log holds only the change, and recovery compresses the page again. With another
version of zlib than before, after an update, the result differs and the page is damaged.

Remedy: ON, which is the default.

Risk: more log where compressed tables are written much.

References: MySQL 8.0 manual, 15.14 (2023).
"""

from dbdyno.engines._mysql.rules._setting import exists, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule

NAME = "innodb_log_compressed_pages"


def check(facts: Facts) -> Finding | None:
    if facts.flag(f"setting.{NAME}"):
        return None
    return Finding(
        says=f"{NAME} is off: recovery after an update of zlib may damage compressed pages.",
        severity=Severity.WARNING,
        durability=Level.L3,
        fixes=(setting(facts, NAME, "ON"),),
    )


RULE = Rule(
    id="INNO007",
    title="Recovery takes compressed pages from the log",
    topic="durability",
    check=check,
    source="MySQL 8.0 manual, 15.14 (2023)",
    applies=lambda facts: exists(facts, NAME),
    good={f"setting.{NAME}": "ON"},
    bad={f"setting.{NAME}": "OFF"},
)
