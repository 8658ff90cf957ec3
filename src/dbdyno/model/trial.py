"""One knob assignment, the runs that scored it, and what became of it; and the plan of a whole study."""

from __future__ import annotations

import enum

from dbdyno.model.contract import Contract
from dbdyno.model.fact import Scalar
from dbdyno.model.knob import Level, Value
from dbdyno.model.plan import WorkloadSpec
from dbdyno.model.record import FORMAT_VERSION, Record
from dbdyno.model.run import DoubtNote
from dbdyno.model.target import Target


class TrialKind(enum.StrEnum):
    BASELINE = "baseline"
    """The server's default or a formula."""
    SEARCH = "search"
    ANCHOR = "anchor"
    """The incumbent again, to see the machine drift."""
    REPEAT = "repeat"
    CONFIRM = "confirm"
    ABLATION = "ablation"
    RUNG = "rung"
    """Of a ladder: a change, or what stood before it."""
    VALIDATION = "validation"
    """The winner in one long run, over checkpoint cycles."""
    POINT = "point"
    """Of a sweep's grid."""


class TrialStatus(enum.StrEnum):
    KEPT = "kept"
    REJECTED = "rejected"
    FAILED = "failed"
    DOUBTED = "doubted"


class Cause(Record, frozen=True, kw_only=True):
    """What held a measured configuration back, with the settings that would change it."""

    rule: str
    """Id of the diagnosis."""
    says: str
    """The evidence in one sentence."""
    changes: dict[str, str]
    """Value by setting, in the server's own words."""
    durability: Level | None = None
    """Highest contract level that the changes keep; None when they do not touch durability."""


class Trial(Record, frozen=True, kw_only=True):
    number: int
    kind: TrialKind
    name: str = ""
    """Of a baseline or an arm: `default`, `formula`, `pgtune`, `winner`."""
    assignment: dict[str, Value]
    status: TrialStatus
    score: float | None = None
    """What the search maximises: charged throughput (see `tps_charged`), lowered in proportion where the response time
    at the fixed rate is above the contract's limit; None when it failed."""
    tps: float | None = None
    tps_charged: float | None = None
    """Throughput after deferred writes are charged: transactions / (seconds + drain_s)."""
    measured_s: float = 0.0
    """Length of the closed loop that was measured."""
    drain_s: float | None = None
    """How long the server needed to write what it had deferred."""
    p99_ms: float | None = None
    rate_p99_ms: float | None = None
    """99th percentile of the response time in the phase at a fixed rate."""
    write_bytes_per_transaction: float | None = None
    wal_bytes_per_transaction: float | None = None
    machine_probe: dict[str, Scalar] = {}
    """The short measurement of the machine before the trial."""
    disk: dict[str, Scalar] = {}
    """Of the data's disk in the closed loop: `writes_per_s`, and of a write the mean `bytes` and `ms`."""
    runs: tuple[str, ...] = ()
    """Run folders, relative to the study's."""
    started_unix_s: float = 0.0
    seconds: float = 0.0
    """Wall time that the trial cost, set-up included."""
    doubts: tuple[DoubtNote, ...] = ()
    error: str = ""
    says: str = ""
    cause: str = ""
    """Id of the cause that this trial is to mend; empty when it was not made for one."""
    why: str = ""
    """The evidence for that cause, the trial that showed it, and the change."""
    causes: tuple[Cause, ...] | None = None
    """What the record of this trial's run shows to hold it back; None when that was not asked or could not be told."""


class StudyPlan(Record, frozen=True, kw_only=True):
    """A tuning study as the command line gave it."""

    format: int = FORMAT_VERSION
    name: str
    target: Target
    workload: WorkloadSpec
    contract: Contract
    threads: int
    seed: int
    trials_max: int
    warmup_s: float
    measure_s: float
    rate_s: float
    """Length of the open-loop phase in confirmation runs; 0: none."""
    confirm_pairs: int
    sampler: str
    guide: bool = False
    """Whether some trials of the search are made for what explains the incumbent's run. Off in studies of old."""
    knobs: tuple[str, ...] = ()
    """Names to search; empty: all of the engine's curated list."""
    time_limit_s: float = 0.0
    ablate: bool = True
    ablate_runs_max: int = 16
    """Most runs that the leave-one-out may take; knobs beyond it are not measured, and that is said."""
    finals: int = 2
    """How often each of the best candidates is measured again before the winner is chosen."""
    rate_fraction: float = 0.7
    """The fixed rate of the open-loop phase, as a part of the default's throughput."""
    validate_s: float = 0.0
    """Most seconds of the winner's long run over two checkpoint cycles; 0: it is not run."""
    crash_states: int = 0
    """Crash states of the power-loss proof of the winner; 0: it is not run."""
    command: tuple[str, ...] = ()


class Comparison(Record, frozen=True, kw_only=True):
    """Paired comparison of two arms by the ratio of a figure (b over a)."""

    a: str
    b: str
    figure: str
    """`tps_charged`, `rate_p99_ms` …"""
    pairs: int
    ratio: float
    """Geometric mean of the pairs' ratios."""
    low: float
    high: float
    confidence: float = 0.95
    verdict: str
    """`faster`, `slower` or `no difference shown`."""
    ratios: tuple[float, ...] = ()
    says: str = ""


class StudyOutcome(Record, frozen=True, kw_only=True):
    """How a study ended; rewritten as it goes on."""

    format: int = FORMAT_VERSION
    status: str
    winner: dict[str, Value] = {}
    winner_trial: int | None = None
    comparisons: tuple[Comparison, ...] = ()
    contributions: dict[str, dict[str, float]] = {}
    """By knob: `{"ratio", "low", "high"}` of the winner over the winner without it."""
    contract: dict[str, Scalar] = {}
    """`kept` (bool or None for unknown), `recovery_s`, `recovery_s_max`, `breaches` …"""
    configuration_file: str = ""
    statements: tuple[str, ...] = ()
    machine: dict[str, Scalar] = {}
    noise: dict[str, Scalar] = {}
    """Of the anchors and A/A pairs: coefficient of variation, drift."""
    validation: dict[str, Scalar] = {}
    """What the winner's long run showed: `verdict`, `says`, `cycles`, `seconds`, `tps_charged`, `ratio`."""
    error: str = ""
