"""INNO039: The cache is cold after a restart

What it checks: innodb_buffer_pool_dump_at_shutdown and innodb_buffer_pool_load_at_startup are on.

Why it matters: otherwise the first minutes or hours after a restart read everything from the disk.

Remedy: switch both on.

Risk: a little reading in the background after the start.

References: "InnoDB Performance Optimization Basics" (Percona, 2023).
"""

from dbdyno.engines._mysql.memory import rocksdb_leads
from dbdyno.engines._mysql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    names = ("innodb_buffer_pool_dump_at_shutdown", "innodb_buffer_pool_load_at_startup")
    off = [name for name, on in [(name, facts.flag(f"setting.{name}")) for name in names] if not on]
    if not off:
        return None
    return Finding(
        says=f"{', '.join(off)} off: the cache begins empty.",
        severity=Severity.ADVICE,
        fixes=tuple(setting(facts, name, "ON") for name in off),
    )


RULE = Rule(
    id="INNO039",
    title="The cache is loaded again after a restart",
    topic="memory",
    check=check,
    source="InnoDB Performance Optimization Basics (Percona, 2023)",
    applies=lambda facts: not rocksdb_leads(facts),
    good={"setting.innodb_buffer_pool_dump_at_shutdown": "ON", "setting.innodb_buffer_pool_load_at_startup": "ON"},
    bad={"setting.innodb_buffer_pool_dump_at_shutdown": "OFF", "setting.innodb_buffer_pool_load_at_startup": "ON"},
)
