"""MY053: Primary keys are wide

What it checks: the primary key of a table with other indexes is at most 128 bytes wide by its declaration.

Why it matters: it is repeated in every entry of every other index: the indexes grow, and the cache holds less.

Remedy: a number as primary key, and the long one as a unique index; UUIDs as BINARY(16).

Risk: the table is rebuilt, and programs that rely on the order of the key change.

References: "InnoDB Performance Optimization Basics" (Percona, 2023): short primary key, it is in every secondary
index.
"""

from dbdyno.engines._mysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("schema.wide_primary_key_count"), facts.text("schema.wide_primary_key_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} tables with other indexes have a primary key of more than 128 bytes: {examples}.",
        severity=Severity.ADVICE,
        fixes=(by_hand("my053", "ALTER TABLE … -- a short key"),),
    )


RULE = Rule(
    id="MY053",
    title="Primary keys are short",
    topic="schema",
    check=check,
    source="InnoDB Performance Optimization Basics (Percona, 2023)",
    good={"schema.wide_primary_key_count": 0, "schema.wide_primary_key_examples": ""},
    bad={"schema.wide_primary_key_count": 2, "schema.wide_primary_key_examples": "shop.a, shop.b"},
)
