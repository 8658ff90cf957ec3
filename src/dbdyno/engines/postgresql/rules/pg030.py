"""PG030: Volume forces checkpoints before their time

What it checks: max_wal_size holds the log of one checkpoint_timeout at the measured rate (now with --seconds, else the
mean of an hour or more), as far as the recovery budget allows.

Why it matters: A checkpoint that volume forces comes early, and after each one every page goes whole into the log
again: more checkpoints make more log, which makes more checkpoints.

Remedy: Raise max_wal_size to one and a half times what is written in checkpoint_timeout, within half of the recovery
budget.

Risk: Recovery after a crash takes longer, up to the budget; the disk must hold the log.

References: Tuning PostgreSQL for sysbench-tpcc (Percona, 2018): 100 GB, three to four checkpoints an hour in spite of
a timeout of 1 h; PostgreSQL 15 manual, section 30.5 (2022). Replay is taken for 100 MiB a second, as in knobs.toml.
"""

from dbdyno.engines.postgresql.memory import MIB
from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.engines.postgresql.rules._wal import REPLAY_MIB_PER_S, believed, timeout_wanted_s, wal_bytes_per_s
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    timeout, current = timeout_wanted_s(facts), facts.number("setting.max_wal_size")
    rate, budget_s = wal_bytes_per_s(facts), facts.number("contract.recovery_s_max")
    wanted = min(rate * timeout * 1.5 / MIB, budget_s * REPLAY_MIB_PER_S * 0.5)
    if current >= 0.8 * wanted:
        return None
    believed(facts)
    return Finding(
        says=f"{rate / MIB:.1f} MiB of log a second fill max_wal_size = {current:.0f} MB in "
        f"{current * MIB / 2 / rate:.0f} s, before checkpoint_timeout = {timeout:.0f} s.",
        fixes=(setting(facts, "max_wal_size", -(-int(wanted) // 256) * 256),),
    )


RULE = Rule(
    id="PG030",
    title="Checkpoints come by time, not by volume",
    topic="wal",
    check=check,
    source="Tuning PostgreSQL for sysbench-tpcc (Percona, 2018); PostgreSQL 15 manual, 30.5 (2022)",
    good={
        "setting.max_wal_size": 16384,
        "setting.checkpoint_timeout": 300,
        "status.wal_bytes_per_s_mean": 200000.0,
        "status.wal_stats_age_s": 86400,
        "contract.recovery_s_max": 120.0,
    },
    bad={
        "setting.max_wal_size": 1024,
        "setting.checkpoint_timeout": 900,
        "status.wal_bytes_per_s_mean": 5000000.0,
        "status.wal_stats_age_s": 86400,
        "contract.recovery_s_max": 120.0,
    },
)
