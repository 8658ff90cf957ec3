"""MY043: Wrong values are taken in silence

What it checks: sql_mode holds STRICT_TRANS_TABLES or STRICT_ALL_TABLES, and NO_ENGINE_SUBSTITUTION.

Why it matters: without strict mode a value that is too long or no date is cut or zeroed with a warning that nobody
reads; without the other a table that was meant for one engine is made in another.

Remedy: the default of the version.

Risk: programs that relied on it get errors: try it in their sessions first.

References: MySQL 8.0 manual, 5.1.11 (2023).
"""

from dbdyno.engines._mysql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    mode = facts.text("setting.sql_mode").upper()
    words = [word for word in mode.split(",") if word]
    lacking = [] if {"STRICT_TRANS_TABLES", "STRICT_ALL_TABLES", "TRADITIONAL"} & {*words} else ["STRICT_TRANS_TABLES"]
    lacking += [] if {"NO_ENGINE_SUBSTITUTION", "TRADITIONAL"} & {*words} else ["NO_ENGINE_SUBSTITUTION"]
    if not lacking:
        return None
    return Finding(
        says=f"sql_mode lacks {' and '.join(lacking)}.",
        fixes=(setting(facts, "sql_mode", ",".join([*words, *lacking])),),
    )


RULE = Rule(
    id="MY043",
    title="Wrong values are refused",
    topic="behaviour",
    check=check,
    source="MySQL 8.0 manual, 5.1.11 (2023)",
    good={"setting.sql_mode": "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION"},
    bad={"setting.sql_mode": ""},
)
