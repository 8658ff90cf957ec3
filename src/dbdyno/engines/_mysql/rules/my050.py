"""MY050: Tables without a primary key

What it checks: each table of InnoDB and RocksDB has a primary key.

Why it matters: rows hang on a hidden number whose counter all such tables share; a replica that applies rows reads
the whole table for each; a cluster refuses them.

Remedy: add one: ALTER TABLE … ADD COLUMN id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY.

Risk: the table is rebuilt.

References: "InnoDB Performance Optimization Basics" (Percona, 2023); MySQL 8.0 manual, 15.6.2.1 (2023).
"""

from dbdyno.engines._mysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("schema.no_primary_key_count"), facts.text("schema.no_primary_key_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} tables have no primary key: {examples}.",
        severity=Severity.WARNING,
        fixes=(by_hand("my050", "ALTER TABLE … ADD PRIMARY KEY (…);"),),
    )


RULE = Rule(
    id="MY050",
    title="Each table has a primary key",
    topic="schema",
    check=check,
    source="InnoDB Performance Optimization Basics (Percona, 2023); MySQL 8.0 manual, 15.6.2.1 (2023)",
    good={"schema.no_primary_key_count": 0, "schema.no_primary_key_examples": ""},
    bad={"schema.no_primary_key_count": 2, "schema.no_primary_key_examples": "shop.a, shop.b"},
)
