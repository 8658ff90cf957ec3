"""MY055: Tables hold much room that is free

What it checks: no table has more than 1 GiB free, and more than half of what it uses.

Why it matters: the file is read, backed up and kept with room that nothing uses.

Remedy: OPTIMIZE TABLE rebuilds it; where deletes and inserts alternate, leave it: the room is used again.

Risk: the rebuild needs the room of the table once more, and I/O.

References: MySQL 8.0 manual, 15.11.4 (2023).
"""

from dbdyno.engines._mysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("schema.reclaimable_count"), facts.text("schema.reclaimable_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} tables hold more than 1 GiB that is free: {examples}.",
        severity=Severity.ADVICE,
        fixes=(by_hand("my055", "OPTIMIZE TABLE …;"),),
    )


RULE = Rule(
    id="MY055",
    title="Tables hold little free room",
    topic="schema",
    check=check,
    source="MySQL 8.0 manual, 15.11.4 (2023)",
    good={"schema.reclaimable_count": 0, "schema.reclaimable_examples": ""},
    bad={"schema.reclaimable_count": 2, "schema.reclaimable_examples": "shop.a, shop.b"},
)
