"""INNO024: Adaptive flushing is off

What it checks: innodb_adaptive_flushing is on.

Why it matters: without it the server writes at a fixed rate until the log is full, and then everybody waits.

Remedy: switch it on.

Risk: none.

References: "The relationship between Innodb Log checkpointing and dirty Buffer pool pages" (Percona, undated): on is
better; "Tuning for heavy writing workloads" (Percona, undated, MySQL 5.1) sets it off because XtraDB had its own
method in its place: that method is gone, so on.
"""

from dbdyno.engines._mysql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if facts.flag("setting.innodb_adaptive_flushing"):
        return None
    return Finding(
        says="innodb_adaptive_flushing is off: the log fills until all writing waits.",
        fixes=(setting(facts, "innodb_adaptive_flushing", "ON"),),
    )


RULE = Rule(
    id="INNO024",
    title="Flushing follows the growth of the log",
    topic="writing",
    check=check,
    source="MySQL 8.0 manual, 15.8.3.5 (2023)",
    good={"setting.innodb_adaptive_flushing": "ON"},
    bad={"setting.innodb_adaptive_flushing": "OFF"},
)
