"""MY054: Numbers run out

What it checks: no AUTO_INCREMENT is beyond 70 % of what its column can hold.

Why it matters: when the range is used up, every INSERT fails.

Remedy: ALTER TABLE … MODIFY … BIGINT UNSIGNED, with the columns that refer to it, before it hurries.

Risk: the table is rebuilt: plan it, or use an online tool.

References: MySQL 8.0 manual, 28.4.3.23 schema_auto_increment_columns (2023).
"""

from dbdyno.engines._mysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = (
        facts.number("schema.auto_increment_full_count"),
        facts.text("schema.auto_increment_full_examples"),
    )
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} counters are beyond 70 % of their range: {examples}.",
        severity=Severity.CRITICAL,
        fixes=(by_hand("my054", "ALTER TABLE … MODIFY … BIGINT UNSIGNED NOT NULL AUTO_INCREMENT;"),),
    )


RULE = Rule(
    id="MY054",
    title="No counter is near its end",
    topic="schema",
    check=check,
    source="MySQL 8.0 manual, 28.4.3.23 (2023)",
    good={"schema.auto_increment_full_count": 0, "schema.auto_increment_full_examples": ""},
    bad={"schema.auto_increment_full_count": 2, "schema.auto_increment_full_examples": "shop.a, shop.b"},
)
