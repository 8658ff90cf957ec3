"""MY021: The smaller of two limits of temporary tables holds

What it checks: tmp_table_size is not larger than max_heap_table_size.

Why it matters: the smaller of the two is the limit of temporary tables in memory: the larger one is set for nothing,
and misleads.

Remedy: set max_heap_table_size to the same, if so much memory for one statement is meant.

Risk: a statement may take so much memory.

References: MySQL 8.0 manual, 8.4.4 (2023); with the TempTable engine of 8.0.28 tmp_table_size limits alone, so the
rule ends there.
"""

from dbdyno.engines._mysql.rules._setting import MIB, mariadb, setting, since
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    temporary, heap = facts.number("setting.tmp_table_size"), facts.number("setting.max_heap_table_size")
    if temporary <= heap:
        return None
    return Finding(
        says=f"tmp_table_size is {temporary / MIB:.0f} MiB, but max_heap_table_size limits at {heap / MIB:.0f} MiB.",
        severity=Severity.ADVICE,
        fixes=(setting(facts, "tmp_table_size", int(heap)),),
    )


RULE = Rule(
    id="MY021",
    title="tmp_table_size and max_heap_table_size agree",
    topic="memory",
    check=check,
    source="MySQL 8.0 manual, 8.4.4 (2023)",
    applies=lambda facts: mariadb(facts) or since(facts, mysql=0, below=80028),
    good={"server.version": 1101119, "setting.tmp_table_size": 16777216, "setting.max_heap_table_size": 16777216},
    bad={"server.version": 1101119, "setting.tmp_table_size": 268435456, "setting.max_heap_table_size": 16777216},
)
