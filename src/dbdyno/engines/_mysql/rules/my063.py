"""MY063: Clients may be asked for their files

What it checks: local_infile is off.

Why it matters: a statement that is smuggled in can read files of the client; a false server can ask any client that
allows it.

Remedy: switch it off, and on for the session that loads.

Risk: LOAD DATA LOCAL fails.

References: MySQL 8.0 manual, 6.1.6 (2023): off by default; MariaDB has it on (2024).
"""

from dbdyno.engines._mysql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if not facts.flag("setting.local_infile"):
        return None
    return Finding(says="local_infile is on.", severity=Severity.ADVICE, fixes=(setting(facts, "local_infile", "OFF"),))


RULE = Rule(
    id="MY063",
    title="local_infile is off",
    topic="security",
    check=check,
    source="MySQL 8.0 manual, 6.1.6 (2023)",
    good={"setting.local_infile": "OFF"},
    bad={"setting.local_infile": "ON"},
)
