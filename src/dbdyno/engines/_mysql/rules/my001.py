"""MY001: The version is at the end of its life

What it checks: the series of the server still gets fixes, and will for another 90 days.

Why it matters: faults that lose data or let strangers in are not mended any more.

Remedy: plan the update to a series with long support (MySQL 8.4, 9.7; MariaDB 10.11, 11.4, 11.8, 12.3).

Risk: an update wants a rehearsal with the own statements, and a way back.

References: the table advisories.toml of this folder, each row with its source and date (2026).
"""

from dbdyno.engines._mysql.rules._setting import by_hand
from dbdyno.engines.support import support_ends
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    return support_ends(facts, by_hand("version", "update the server to a series with long support"))


RULE = Rule(
    id="MY001",
    title="The version gets fixes",
    topic="version",
    check=check,
    source="Oracle Lifetime Support Policy, MySQL; MariaDB maintenance policy (2026)",
    good={"server.series": "mysql 8.4", "server.end_of_life_unix_s": 2000000000.0, "check.unix_s": 1700000000.0},
    bad={"server.series": "mysql 5.7", "server.end_of_life_unix_s": 1600000000.0, "check.unix_s": 1700000000.0},
)
