"""PG032: Checkpoints write in a burst

What it checks: checkpoint_completion_target is at least 0.7.

Why it matters: The lower it is, the shorter the time into which a checkpoint squeezes its writes, and the higher the
peak that all transactions feel.

Remedy: 0.9, the default since version 14.

Risk: None worth naming.

References: Tuning PostgreSQL for sysbench-tpcc (Percona, 2018): 0.9; PostgreSQL 15 manual, section 30.5 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    target = facts.number("setting.checkpoint_completion_target")
    if target >= 0.7:
        return None
    return Finding(
        says=f"checkpoint_completion_target is {target:g}: checkpoints write in bursts.",
        fixes=(setting(facts, "checkpoint_completion_target", "0.9"),),
    )


RULE = Rule(
    id="PG032",
    title="Checkpoints spread their writes",
    topic="wal",
    check=check,
    source="Tuning PostgreSQL for sysbench-tpcc (Percona, 2018); PostgreSQL 15 manual, 30.5 (2022)",
    good={"setting.checkpoint_completion_target": 0.9},
    bad={"setting.checkpoint_completion_target": 0.5},
)
