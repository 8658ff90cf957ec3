"""What happened in a run."""

from __future__ import annotations

import enum
from typing import Any

from dbdyno.model.fact import Scalar
from dbdyno.model.record import FORMAT_VERSION, Record


class Doubt(enum.StrEnum):
    """What weakens a measurement. Doubts are printed first, and the tuner does not believe a doubtful trial."""

    DRIVER_SATURATED = "driver_saturated"
    SCHEDULE_LAG = "schedule_lag"
    SERVER_RESTARTED = "server_restarted"
    STATISTICS_RESET = "statistics_reset"
    CACHE_COLD = "cache_cold"
    DISK_THROTTLED = "disk_throttled"
    NOISY_NEIGHBOUR = "noisy_neighbour"
    DRIVER_ON_SERVER_HOST = "driver_on_server_host"
    SHORTER_THAN_CHECKPOINT_CYCLE = "shorter_than_checkpoint_cycle"
    NOT_STEADY = "not_steady"
    ERRORS = "errors"
    RECONNECTS = "reconnects"
    CLOCK_STEPPED = "clock_stepped"
    SAMPLES_MISSING = "samples_missing"
    HOST_ELSEWHERE = "host_elsewhere"
    HOST_CLOCK = "host_clock"
    INTERRUPTED = "interrupted"
    SHORT = "short"
    DATASET_NOT_RESET = "dataset_not_reset"

    @property
    def grave(self) -> bool:
        """Whether a trial with this doubt is measured again rather than believed. A driver on the server's host and
        a run shorter than a checkpoint cycle are stated but do not make one configuration look better than another."""
        return self in _GRAVE


_GRAVE = {
    Doubt.DRIVER_SATURATED,
    Doubt.SERVER_RESTARTED,
    Doubt.NOISY_NEIGHBOUR,
    Doubt.ERRORS,
    Doubt.RECONNECTS,
    Doubt.CLOCK_STEPPED,
    Doubt.INTERRUPTED,
}


class DoubtNote(Record, frozen=True, kw_only=True):
    """A doubt with what was seen and what would help."""

    doubt: Doubt
    says: str
    helps: str = ""


class RunStatus(enum.StrEnum):
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class Latency(Record, frozen=True, kw_only=True):
    """Percentiles in microseconds; `hdr` as in the driver protocol."""

    count: int = 0
    mean_us: float = 0.0
    max_us: float = 0.0
    p50_us: float = 0.0
    p90_us: float = 0.0
    p95_us: float = 0.0
    p99_us: float = 0.0
    p999_us: float = 0.0
    hdr: str = ""


class PhaseOutcome(Record, frozen=True, kw_only=True):
    """One phase summed up: the driver's `summary` event and what we computed from it."""

    phase: str
    started_t_s: float
    seconds: float
    threads: int
    measured: bool
    count: int
    """Successful transactions of all types."""
    tps: float
    transactions: dict[str, dict[str, Any]]
    errors: int
    retries: int
    response: Latency
    service: Latency
    by_type: dict[str, dict[str, Latency]] = {}
    figures: dict[str, float] = {}
    """The workload's own: `nopm` …"""
    driver_cpu_us_per_transaction: float = 0.0


class Outcome(Record, frozen=True, kw_only=True):
    """How a run ended; written last. A run folder without it was cut off, and can still be read."""

    format: int = FORMAT_VERSION
    status: RunStatus
    phases: tuple[PhaseOutcome, ...] = ()
    doubts: tuple[DoubtNote, ...] = ()
    error: str = ""
    sampling: dict[str, Scalar] = {}
    """What watching cost: queries, milliseconds, CPU seconds."""
    server: dict[str, Scalar] = {}
    """Differences of server counters over the measured phases: `wal_bytes`, `write_bytes`, `checkpoints` …"""

    def phase(self, name: str) -> PhaseOutcome | None:
        return next((phase for phase in self.phases if phase.phase == name), None)
