"""Everything needed to repeat a run: the parsed command line, stored whole in the run."""

from __future__ import annotations

import enum
from typing import Any

from dbdyno.model.record import FORMAT_VERSION, Record
from dbdyno.model.target import Target


class LoopMode(enum.StrEnum):
    CLOSED = "closed"
    OPEN = "open"


class Arrivals(enum.StrEnum):
    POISSON = "poisson"
    CONSTANT = "constant"


class Phase(Record, frozen=True, kw_only=True):
    """One stretch of load. `time_s` or `events` ends it; 0 means no limit."""

    name: str
    mode: LoopMode = LoopMode.CLOSED
    time_s: float = 0.0
    events: int = 0
    rate_per_s: float = 0.0
    arrivals: Arrivals = Arrivals.POISSON
    measured: bool = True


class WorkloadSpec(Record, frozen=True, kw_only=True):
    name: str
    scale: int = 1
    options: dict[str, Any] = {}


class Plan(Record, frozen=True, kw_only=True):
    """One run. It holds no password: that is handed over apart."""

    format: int = FORMAT_VERSION
    verb: str = "run"
    """`run` (load), or `record` (sampling without load)."""
    target: Target
    workload: WorkloadSpec | None = None
    threads: int = 1
    """Connections."""
    workers: int = 0
    """Threads of the driver that share the connections; 0: one for each core."""
    pipeline: bool = False
    """BEGIN is sent with the first statement, and COMMIT with the last one where the protocol makes that safe."""
    seed: int = 1
    interval_s: float = 1.0
    phases: tuple[Phase, ...] = ()
    retries_max: int = 10
    reconnects_max: int = 30
    sample: bool = True
    sample_every_s: float = 1.0
    title: str = ""
    labels: dict[str, str] = {}
    """Free words: `{"study": "…", "trial": "12", "arm": "winner"}`."""
    command: tuple[str, ...] = ()
    """The command line, with secrets struck out."""
