"""INNO023: The share of dirty pages is at its limit

What it checks: the share of dirty pages is below innodb_max_dirty_pages_pct, and that limit lies between 10 and 95.

Why it matters: at the limit the server flushes as hard as it may. A limit of a few percent turns every change into a
write at once; one of 99 leaves no clean page to take.

Remedy: the default of 90; where the share stays at the limit, raise innodb_io_capacity step by step.

Risk: more dirty pages at a crash; the redo log bounds the time of recovery, not this.

References: "The relationship between Innodb Log checkpointing and dirty Buffer pool pages" (Percona, undated): a
coarse knob, the log matters more; MySQL 8.0 manual, 15.8.3.5 (2023).
"""

from dbdyno.engines._mysql.rules._setting import by_hand, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    limit = facts.number("setting.innodb_max_dirty_pages_pct")
    dirty, total = (facts.number(f"status.innodb_buffer_pool_pages_{name}") for name in ("dirty", "total"))
    if not 10 <= limit <= 95:
        return Finding(
            says=f"innodb_max_dirty_pages_pct is {limit:g}.",
            fixes=(setting(facts, "innodb_max_dirty_pages_pct", 90),),
        )
    part = 100 * dirty / max(total, 1)
    if part < limit:
        return None
    return Finding(
        says=f"{part:.0f} % of the pages are dirty, the limit is {limit:g} %: flushing does not keep up.",
        fixes=(by_hand("innodb_io_capacity", "SET GLOBAL innodb_io_capacity = …; -- half as much again"),),
    )


RULE = Rule(
    id="INNO023",
    title="Dirty pages stay below their limit",
    topic="writing",
    check=check,
    source=(
        "The relationship between Innodb Log checkpointing and dirty Buffer pool pages (Percona, before "
        "2013); MySQL 8.0 manual, 15.8.3.5 (2023)"
    ),
    good={
        "setting.innodb_max_dirty_pages_pct": 90,
        "status.innodb_buffer_pool_pages_dirty": 10,
        "status.innodb_buffer_pool_pages_total": 8191,
    },
    bad={
        "setting.innodb_max_dirty_pages_pct": 1,
        "status.innodb_buffer_pool_pages_dirty": 10,
        "status.innodb_buffer_pool_pages_total": 8191,
    },
)
