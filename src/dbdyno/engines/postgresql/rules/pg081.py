"""PG081: Every statement is logged

What it checks: log_statement is not all, and log_min_duration_statement is not 0.

Why it matters: The log grows with the load, slows the server, and holds the data and passwords of every statement.

Remedy: Log what is slow (log_min_duration_statement), and count the rest with pg_stat_statements.

Risk: Statements that are quick are no longer in the log.

References: PostgreSQL 15 manual, section 20.8 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Fix
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    kind, slow = facts.text("setting.log_statement"), facts.number("setting.log_min_duration_statement")
    fixes: tuple[Fix, ...] = (setting(facts, "log_statement", "ddl"),) if kind == "all" else ()
    fixes += (setting(facts, "log_min_duration_statement", 1000),) if slow == 0 else ()
    if not fixes:
        return None
    return Finding(
        says=f"log_statement = {kind}, log_min_duration_statement = {slow:.0f} ms: all is logged.", fixes=fixes
    )


RULE = Rule(
    id="PG081",
    title="Only some statements are logged",
    topic="logging",
    check=check,
    source="PostgreSQL 15 manual, 20.8 (2022)",
    good={"setting.log_statement": "none", "setting.log_min_duration_statement": 1000},
    bad={"setting.log_statement": "all", "setting.log_min_duration_statement": -1},
)
