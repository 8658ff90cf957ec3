"""MY052: Indexes that another one covers

What it checks: no index is the beginning of another index of its table.

Why it matters: each is written with every change and takes room in the cache, and gives nothing that the longer one
does not.

Remedy: drop it, after it was made invisible (MySQL 8.0) or ignored (MariaDB 10.6) for a while.

Risk: a hint that names it fails; a covering scan may become slower.

References: MySQL 8.0 manual, 28.4.3.25 schema_redundant_indexes (2023).
"""

from dbdyno.engines._mysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("schema.redundant_index_count"), facts.text("schema.redundant_index_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} indexes are covered by another one: {examples}.",
        severity=Severity.ADVICE,
        fixes=(by_hand("my052", "ALTER TABLE … ALTER INDEX … INVISIBLE; -- later DROP INDEX"),),
    )


RULE = Rule(
    id="MY052",
    title="No index is covered by another",
    topic="schema",
    check=check,
    source="MySQL 8.0 manual, 28.4.3.25 (2023)",
    good={"schema.redundant_index_count": 0, "schema.redundant_index_examples": ""},
    bad={"schema.redundant_index_count": 2, "schema.redundant_index_examples": "shop.a, shop.b"},
)
