"""PG083: Nobody counts statements

What it checks: pg_stat_statements is loaded.

Why it matters: Without it nobody knows which statements take the time, now or in the hour before.

Remedy: Add it to shared_preload_libraries, restart, and CREATE EXTENSION pg_stat_statements.

Risk: A restart, and a few percent at very high rates of short statements.

References: PostgreSQL 15 manual, appendix F.32 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    loaded = [word.strip() for word in facts.text("setting.shared_preload_libraries").split(",") if word.strip()]
    if "pg_stat_statements" in loaded:
        return None
    return Finding(
        says="pg_stat_statements is not loaded: nobody knows which statements take the time.",
        severity=Severity.ADVICE,
        fixes=(setting(facts, "shared_preload_libraries", ",".join([*loaded, "pg_stat_statements"])),),
    )


RULE = Rule(
    id="PG083",
    title="Statements are counted",
    topic="statistics",
    check=check,
    source="PostgreSQL 15 manual, F.32 (2022)",
    good={"setting.shared_preload_libraries": "pg_stat_statements"},
    bad={"setting.shared_preload_libraries": ""},
)
