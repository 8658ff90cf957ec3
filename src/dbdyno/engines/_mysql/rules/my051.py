"""MY051: Tables that a crash can break

What it checks: no table of the users lies in MyISAM, Aria, CSV, ARCHIVE or TokuDB.

Why it matters: they know no rollback, lock whole tables and are repaired, not recovered, after a crash; a backup
without locks holds them half changed.

Remedy: ALTER TABLE … ENGINE=InnoDB.

Risk: the table is rebuilt; a full-text index is made anew.

References: MySQL 8.0 manual, 16.2 (2023); MariaDB manual, Aria (2024): crash-safe, and still not transactional.
"""

from dbdyno.engines._mysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("schema.not_transactional_count"), facts.text("schema.not_transactional_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} tables are not transactional: {examples}.",
        severity=Severity.WARNING,
        fixes=(by_hand("my051", "ALTER TABLE … ENGINE=InnoDB;"),),
    )


RULE = Rule(
    id="MY051",
    title="All tables are transactional",
    topic="schema",
    check=check,
    source="MySQL 8.0 manual, 16.2 (2023); MariaDB manual, Aria (2024)",
    good={"schema.not_transactional_count": 0, "schema.not_transactional_examples": ""},
    bad={"schema.not_transactional_count": 2, "schema.not_transactional_examples": "shop.a, shop.b"},
)
