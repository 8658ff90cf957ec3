"""PG031: Recovery may take longer than the budget

What it checks: The estimated recovery after a crash is within --recovery-time (120 s unless told).

Why it matters: All log since the last checkpoint is replayed before the server answers again. max_wal_size and
checkpoint_timeout bound it, whichever is reached first.

Remedy: Lower max_wal_size to half of what can be replayed in the budget, or allow a longer recovery knowingly.

Risk: More checkpoints, more whole pages in the log.

References: Tuning PostgreSQL for sysbench-tpcc (Percona, 2018): 1 h between checkpoints where a few minutes of
recovery are tolerable, which is a tenth; PostgreSQL 15 manual, section 30.5 (2022). An estimate: dyno measures it in a
study.
"""

from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.engines.postgresql.rules._wal import RECOVERY_PER_INTERVAL, REPLAY_MIB_PER_S, timeout_wanted_s
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    volume_s = facts.number("setting.max_wal_size") / REPLAY_MIB_PER_S
    time_s = timeout_wanted_s(facts) * RECOVERY_PER_INTERVAL
    budget_s = facts.number("contract.recovery_s_max")
    estimate = min(volume_s, time_s)
    if estimate <= budget_s:
        return None
    return Finding(
        says=f"Recovery is estimated to take up to {estimate:.0f} s; the budget is {budget_s:.0f} s.",
        fixes=(setting(facts, "max_wal_size", max(64, int(budget_s * REPLAY_MIB_PER_S * 0.5))),),
    )


RULE = Rule(
    id="PG031",
    title="Recovery is estimated to fit the budget",
    topic="wal",
    check=check,
    source="Tuning PostgreSQL for sysbench-tpcc (Percona, 2018); PostgreSQL 15 manual, 30.5 (2022)",
    good={"setting.max_wal_size": 4096, "setting.checkpoint_timeout": 300, "contract.recovery_s_max": 120.0},
    bad={"setting.max_wal_size": 102400, "setting.checkpoint_timeout": 3600, "contract.recovery_s_max": 120.0},
)
