"""What is assumed of recovery, as in knobs.toml; a study measures it."""

REPLAY_MIB_PER_S = 100.0
"""Log replayed in a second by the one process that does it."""
RECOVERY_PER_INTERVAL = 0.1
"""Seconds of recovery for each second between checkpoints: "Tuning PostgreSQL for sysbench-tpcc" (2018)."""
