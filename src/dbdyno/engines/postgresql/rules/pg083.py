"""PG083: Nobody counts statements

What it checks: pg_stat_statements is loaded.

Why it matters: Without it nobody knows which statements take the time, now or in the hour before.

Remedy: Add it to shared_preload_libraries, restart, and CREATE EXTENSION pg_stat_statements.

Risk: A restart, and a few percent at very high rates of short statements.

References: PostgreSQL 15 manual, appendix F.32 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import by_hand, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    loaded = [word.strip() for word in facts.text("setting.shared_preload_libraries").split(",") if word.strip()]
    installed = facts.flag("server.statements_installed")
    if "pg_stat_statements" in loaded:
        return None
    # A library that is not there would keep the server from starting.
    change = (
        setting(facts, "shared_preload_libraries", ",".join([*loaded, "pg_stat_statements"]))
        if installed
        else by_hand("pg_stat_statements", "install the package postgresql-contrib first: its library is not there")
    )
    return Finding(
        says="pg_stat_statements is not loaded: nobody knows which statements take the time.",
        severity=Severity.ADVICE,
        fixes=(change,),
    )


RULE = Rule(
    id="PG083",
    title="Statements are counted",
    topic="statistics",
    check=check,
    source="PostgreSQL 15 manual, F.32 (2022)",
    good={"setting.shared_preload_libraries": "pg_stat_statements", "server.statements_installed": True},
    bad={"setting.shared_preload_libraries": "", "server.statements_installed": True},
)
