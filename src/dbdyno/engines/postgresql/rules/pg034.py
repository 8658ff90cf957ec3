"""PG034: checkpoint_timeout is very short

What it checks: checkpoint_timeout is at least 2 minutes.

Why it matters: Each checkpoint makes the next change of every page log the whole page. A very short interval
multiplies the log and the writes.

Remedy: 5 minutes, the default, or longer within the recovery budget.

Risk: Recovery takes a little longer.

References: Tuning PostgreSQL for sysbench-tpcc (Percona, 2018): 1 h; PostgreSQL 15 manual, section 30.5 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.engines.postgresql.rules._wal import TIMEOUT_S, TIMEOUT_S_MIN
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    timeout = facts.number("setting.checkpoint_timeout")
    if timeout >= TIMEOUT_S_MIN:
        return None
    return Finding(
        says=f"A checkpoint comes every {timeout:.0f} s at the latest.",
        fixes=(setting(facts, "checkpoint_timeout", TIMEOUT_S),),
    )


RULE = Rule(
    id="PG034",
    title="Checkpoints are not too frequent",
    topic="wal",
    check=check,
    source="Tuning PostgreSQL for sysbench-tpcc (Percona, 2018); PostgreSQL 15 manual, 30.5 (2022)",
    good={"setting.checkpoint_timeout": 300},
    bad={"setting.checkpoint_timeout": 30},
)
