"""INNO036: Tables share one file

What it checks: innodb_file_per_table is on.

Why it matters: the shared file never shrinks: what DROP TABLE frees stays on the disk for ever.

Remedy: switch it on; tables made before stay where they are until they are rebuilt (ALTER TABLE … ENGINE=InnoDB).

Risk: one open file more for each table.

References: "Tuning for heavy writing workloads" (Percona, undated); MySQL 8.0 manual, 15.6.3.2 (2023).
"""

from dbdyno.engines._mysql.rules._setting import exists, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if facts.flag("setting.innodb_file_per_table"):
        return None
    return Finding(
        says="innodb_file_per_table is off: the shared file never shrinks.",
        fixes=(setting(facts, "innodb_file_per_table", "ON"),),
    )


RULE = Rule(
    id="INNO036",
    title="Each table has a file of its own",
    topic="schema",
    check=check,
    source="MySQL 8.0 manual, 15.6.3.2 (2023)",
    applies=lambda facts: exists(facts, "innodb_file_per_table"),
    good={"setting.innodb_file_per_table": "ON"},
    bad={"setting.innodb_file_per_table": "OFF"},
)
