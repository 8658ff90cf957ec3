"""MY003: Settings that later versions do not have

What it checks: nothing is set that this or the next series has deprecated or removed.

Why it matters: a server does not start when its option file names a setting that is gone; an update then ends in the
night.

Remedy: use the successor that is named.

Risk: none, if the successor is set to the same.

References: the table advisories.toml of this folder, with release notes and years; "InnoDB Performance Optimization
Basics" (Percona, 2023) on innodb_redo_log_capacity.
"""

from dbdyno.engines._mysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("server.deprecated_count"), facts.text("server.deprecated_examples")
    if not count:
        return None
    return Finding(
        says=f"{examples}.",
        severity=Severity.ADVICE,
        fixes=(by_hand("deprecated", "take the old name out of the option file and set its successor"),),
    )


RULE = Rule(
    id="MY003",
    title="No setting is about to go",
    topic="version",
    check=check,
    source="MySQL 8.0.30 and 8.4 release notes (2022, 2024); MariaDB manual (2024)",
    good={"server.deprecated_count": 0, "server.deprecated_examples": ""},
    bad={"server.deprecated_count": 1, "server.deprecated_examples": "x"},
)
