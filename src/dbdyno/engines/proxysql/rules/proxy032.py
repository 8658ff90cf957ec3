"""PROXY032: The query cache is asked in vain

What it checks: where rules cache results, at least a fifth of the questions are answered from there.

Why it matters: results are kept and never asked for again, and each one that is asked for may be old.

Remedy: cache_ttl only for statements that are asked often (stats_mysql_query_digest), and a longer one.

Risk: a cached answer is as old as its cache_ttl.

References: ProxySQL documentation, Query cache (2024).
"""

from dbdyno.engines.proxysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

QUESTIONS_MIN, SHARE_MIN = 10_000, 0.2


def check(facts: Facts) -> Finding | None:
    asked, answered = facts.number("status.query_cache_count_get"), facts.number("status.query_cache_count_get_ok")
    if asked < QUESTIONS_MIN or answered >= asked * SHARE_MIN:
        return None
    return Finding(
        says=f"The query cache answered {answered:.0f} of {asked:.0f} questions.",
        severity=Severity.ADVICE,
        fixes=(by_hand("cache_ttl", "SELECT * FROM mysql_query_rules WHERE cache_ttl IS NOT NULL;"),),
    )


RULE = Rule(
    id="PROXY032",
    title="The query cache answers",
    topic="performance",
    check=check,
    source="ProxySQL documentation, Query cache (2024)",
    good={"status.query_cache_count_get": 100000, "status.query_cache_count_get_ok": 80000},
    bad={"status.query_cache_count_get": 100000, "status.query_cache_count_get_ok": 100},
)
