"""INNO030: Old row versions pile up

What it checks: the history list has fewer than 100,000 undo logs.

Why it matters: each old version that is not purged makes reads longer (they walk the chain), undo files larger, and
at some time stops writers.

Remedy: end transactions that stay open (see the rule on the oldest one); else more purge threads.

Risk: none.

References: "Tuning for heavy writing workloads" (Percona, undated): four purge threads where the history list grows;
MySQL 8.0 manual, 15.8.9 (2023).
"""

from dbdyno.engines._mysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    length, threads = facts.number("status.innodb_history_list_length"), facts.number("setting.innodb_purge_threads")
    if length < 100_000:
        return None
    return Finding(
        says=f"{length:.0f} undo logs wait for {threads:.0f} purge threads.",
        severity=Severity.CRITICAL if length > 5_000_000 else Severity.WARNING,
        fixes=(
            by_hand("innodb_purge_threads", "find the oldest transaction in information_schema.INNODB_TRX and end it"),
        ),
    )


RULE = Rule(
    id="INNO030",
    title="Purge keeps up",
    topic="purge",
    check=check,
    source="Tuning for heavy writing workloads (Percona, before 2012); MySQL 8.0 manual, 15.8.9 (2023)",
    good={"status.innodb_history_list_length": 12, "setting.innodb_purge_threads": 4},
    bad={"status.innodb_history_list_length": 700000, "setting.innodb_purge_threads": 4},
)
