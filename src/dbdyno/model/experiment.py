"""Two planned experiments on a server: a ladder (changes one at a time) and a sweep (a grid of values)."""

from __future__ import annotations

from typing import Any

from dbdyno.model.knob import Value
from dbdyno.model.record import FORMAT_VERSION, Record
from dbdyno.model.trial import Comparison


class Configuration(Record, frozen=True, kw_only=True):
    """What one run stands on: settings of the server, and options of the workload that shape its dataset."""

    settings: dict[str, Value] = {}
    options: dict[str, Any] = {}
    """Options of the workload beside those of the plan. Other options mean another dataset."""


class Rung(Record, frozen=True, kw_only=True):
    """One change of a ladder."""

    name: str
    title: str = ""
    change: Configuration
    keep: bool | None = None
    """None: kept when it is shown to be faster. True or False: always, never (a step that prepares another one, or a
    warning that is measured and taken back)."""
    source: str = ""


class Ladder(Record, frozen=True, kw_only=True):
    """Changes tried one at a time, each on top of those that were kept."""

    format: int = FORMAT_VERSION
    title: str = ""
    base: Configuration = Configuration()
    rungs: tuple[Rung, ...]
    watch: tuple[str, ...] = ()
    """Roles of columns whose mean and largest value are shown beside throughput."""
    expects: str = ""
    """What the source saw, in words; shown beside what was measured here."""


class Axis(Record, frozen=True, kw_only=True):
    """A setting (or, with `option`, an option of the workload) and its values in order."""

    name: str
    values: tuple[Value, ...]
    option: bool = False


class Sweep(Record, frozen=True, kw_only=True):
    """A grid, each point measured in every round."""

    format: int = FORMAT_VERSION
    title: str = ""
    base: Configuration = Configuration()
    axes: tuple[Axis, ...]
    fraction: float = 1.0
    """Part of the grid that is measured."""
    watch: tuple[str, ...] = ()
    expects: str = ""


class Watched(Record, frozen=True, kw_only=True):
    """A series over the measured phases of one arm's runs."""

    role: str
    unit: str
    mean: float
    largest: float


class ArmResult(Record, frozen=True, kw_only=True):
    """What the runs of one configuration gave; figures are geometric means of the runs that count."""

    name: str
    configuration: Configuration
    runs: int
    tps: float | None = None
    tps_charged: float | None = None
    p99_ms: float | None = None
    write_bytes_per_transaction: float | None = None
    watched: tuple[Watched, ...] = ()
    prepare_s: float | None = None
    """What it cost to make the server and dataset anew for this configuration; None when that was not needed."""
    error: str = ""


class RungResult(Record, frozen=True, kw_only=True):
    """A change, measured against what stood before it."""

    name: str
    title: str = ""
    without: ArmResult
    with_: ArmResult
    comparison: Comparison | None = None
    kept: bool
    says: str = ""


class Crossover(Record, frozen=True, kw_only=True):
    """Where along one axis the better of two neighbouring values of another axis changes."""

    of: str
    a: str
    b: str
    """Values of `of`: `a` is better below, `b` above."""
    along: str
    low: str
    high: str
    """Neighbouring values of `along` between which it happens."""
    at: float | None = None
    """Where, interpolated on the log ratio; None when the values are no numbers."""
    where: dict[str, Value] = {}
    """Values of the other axes."""
    shown: bool = False
    """Whether the intervals at both ends exclude 1; else it may lie elsewhere, or not exist."""


class ExperimentOutcome(Record, frozen=True, kw_only=True):
    """How an experiment ended; rewritten as it goes on."""

    format: int = FORMAT_VERSION
    status: str
    rungs: tuple[RungResult, ...] = ()
    total: Comparison | None = None
    """Of a ladder: all that was kept together over the base, measured in pairs of its own."""
    arms: tuple[ArmResult, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    """Of a sweep: each point over the first."""
    crossovers: tuple[Crossover, ...] = ()
    kept: Configuration = Configuration()
    error: str = ""
