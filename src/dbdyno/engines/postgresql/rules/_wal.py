"""How much log is written, and what is assumed of recovery, as in knobs.toml; a study measures it."""

from dbdyno.model.facts import Facts, MissingFact

REPLAY_MIB_PER_S = 100.0
"""Log replayed in a second by the one process that does it."""
RECOVERY_PER_INTERVAL = 0.1
"""Seconds of recovery for each second between checkpoints: "Tuning PostgreSQL for sysbench-tpcc" (2018)."""
TIMEOUT_S_MIN = 120
TIMEOUT_S = 300
"""The default of checkpoint_timeout."""
YOUNG_S = 3600
"""A mean over less says more about the beginning than about the work."""


def wal_bytes_per_s(facts: Facts) -> float:
    """The larger of the mean since the statistics were reset and, with --seconds, the rate now."""
    mean, age = facts.number("status.wal_bytes_per_s_mean"), facts.number("status.wal_stats_age_s")
    if facts.has("rate.wal_bytes_per_s"):
        now = facts.number("rate.wal_bytes_per_s")
        return max(mean, now) if age >= YOUNG_S else now
    return mean


def believed(facts: Facts) -> None:
    """Raises `MissingFact` when a judgement would rest on a mean over a short time only."""
    age = facts.number("status.wal_stats_age_s")
    if age < YOUNG_S and not facts.has("rate.wal_bytes_per_s"):
        raise MissingFact("status.wal_bytes_per_s_mean", f"the statistics are only {age:.0f} s old: give --seconds N")


def timeout_wanted_s(facts: Facts) -> float:
    """checkpoint_timeout as rule PG034 leaves it: one advice must not bring the next."""
    timeout = facts.number("setting.checkpoint_timeout")
    return timeout if timeout >= TIMEOUT_S_MIN else TIMEOUT_S
