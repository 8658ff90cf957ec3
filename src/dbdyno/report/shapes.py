"""What a report shows, worked out before anything is drawn: frozen values that tests can look at.

A view holds numbers and words, no markup; the pages, the terminal and JSON are three ways to print it.
"""

from __future__ import annotations

from dbdyno.model.finding import Verdict
from dbdyno.model.record import Record

DEFAULT_COLOR, WINNER_COLOR = 0, 1
"""Places in the palette of the style sheet: grey for what was there before, blue for what was found."""


class Line(Record, frozen=True, kw_only=True):
    """One curve. `low` and `high` are the envelope when the series was thinned, else empty."""

    label: str
    color: int
    values: list[float | None]
    low: list[float | None] = []
    high: list[float | None] = []
    dash: bool = False


class Mark(Record, frozen=True, kw_only=True):
    """A moment on a chart: the begin of a phase, or a checkpoint (`timed`, or `forced` by volume)."""

    t_s: float
    kind: str
    color: int
    label: str = ""


class Chart(Record, frozen=True, kw_only=True):
    """Curves on one time axis (seconds). Charts of one `group` share their cursor and zoom."""

    id: str
    group: str
    title: str
    unit: str
    axis: str
    """Label of the upright axis, with its unit."""
    x: list[float]
    lines: list[Line]
    marks: list[Mark] = []
    says: str = ""
    tall: bool = False
    fill: bool = False
    last: bool = False
    """Whether the time axis is labelled: on the lowest chart of a group."""
    floor: float | None = None
    """Anything but None lets the axis begin near the lowest value instead of at zero."""


class Note(Record, frozen=True, kw_only=True):
    """A doubt or a caveat."""

    says: str
    kind: str = ""
    helps: str = ""
    grave: bool = False
    times: int = 1


class Tile(Record, frozen=True, kw_only=True):
    """A headline figure."""

    name: str
    value: str
    unit: str = ""
    hint: str = ""


class Row(Record, frozen=True, kw_only=True):
    """A name with a value, or with the reason why there is none."""

    name: str
    value: str
    unknown: str = ""
    source: str = ""


class Table(Record, frozen=True, kw_only=True):
    """`numeric` columns are set flush right. The first column names the row."""

    title: str
    heads: list[str]
    rows: list[list[str]]
    numeric: list[bool]


class Link(Record, frozen=True, kw_only=True):
    """A file of the folder, relative to where the report lies."""

    name: str
    href: str
    says: str


class Curve(Record, frozen=True, kw_only=True):
    """Latency by percentile: `points` are (percentile, milliseconds)."""

    label: str
    color: int
    dash: bool
    points: list[tuple[float, float]]


class Distribution(Record, frozen=True, kw_only=True):
    """Latency of one phase."""

    phase: str
    says: str
    curves: list[Curve]


class PhaseView(Record, frozen=True, kw_only=True):
    """The headline of one measured phase."""

    name: str
    says: str
    tiles: list[Tile]


class Band(Record, frozen=True, kw_only=True):
    """A stall on the picture. `label` is the number of the finding that names its cause, `?` for none."""

    x: float
    width: float
    label: str
    says: str


class Tick(Record, frozen=True, kw_only=True):
    """An event below the picture."""

    x: float
    width: float
    y: float
    says: str


class Label(Record, frozen=True, kw_only=True):
    """Words on a picture."""

    x: float
    y: float
    text: str


class Cause(Record, frozen=True, kw_only=True):
    """A finding as the page shows it."""

    number: int
    title: str
    rule: str
    grave: bool
    sure: str
    says: str
    evidence: str
    remedy: str
    fixes: list[str]
    cost: str
    not_because: str
    source: str


class Explained(Record, frozen=True, kw_only=True):
    """A record's stalls and their causes."""

    title: str
    says: str
    curve: str = ""
    """Path of the throughput; empty when there is none."""
    area: str = ""
    bands: list[Band] = []
    ticks: list[Tick] = []
    kinds: list[Label] = []
    axis: list[Label] = []
    top: str = ""
    height: float = 0.0
    stalls: list[str] = []
    causes: list[Cause] = []
    notes: list[str] = []


class RunView(Record, frozen=True, kw_only=True):
    """All that a run's report says."""

    name: str
    title: str
    status: str
    says: str
    """The run in one sentence."""
    subtitle: list[str]
    doubts: list[Note]
    gone: dict[str, str] = {}
    """By part (`phases`, `load`, `samples`, `latency`, …): why it is missing."""
    phases: list[PhaseView] = []
    load_charts: list[Chart] = []
    server_charts: list[Chart] = []
    distributions: list[Distribution] = []
    transactions: list[Table] = []
    errors: list[Row] = []
    counters: list[Row] = []
    settings: list[Row] = []
    environment: list[Row] = []
    sampling: list[Row] = []
    links: list[Link] = []
    command: str = ""
    explained: Explained | None = None


class Check(Record, frozen=True, kw_only=True):
    """One clause of the contract."""

    verdict: Verdict
    title: str
    why: str


class Answer(Record, frozen=True, kw_only=True):
    """The study in one sentence. `big` is the ratio, empty when none was shown."""

    verdict: str
    says: str
    also: list[str] = []
    big: str = ""
    against: str = ""
    interval: str = ""


class Arm(Record, frozen=True, kw_only=True):
    """A configuration that was measured, with the geometric means of its runs; None where nothing was measured."""

    name: str
    color: int
    origin: str
    """Which trials the figures come from, in words."""
    runs: int
    confirmed: bool
    tps: float | None
    tps_charged: float | None
    rate_p99_ms: float | None
    write_bytes_per_transaction: float | None
    wal_bytes_per_transaction: float | None
    drain_s: float | None


class Bar(Record, frozen=True, kw_only=True):
    """`fraction` of the track is filled; `ghost` is a paler bar behind it."""

    who: str
    color: int
    value: str
    fraction: float
    ghost: float | None = None
    strong: bool = False
    hint: str = ""


class BarCard(Record, frozen=True, kw_only=True):
    """One figure of all arms, side by side."""

    title: str
    says: str
    bars: list[Bar]


class Effect(Record, frozen=True, kw_only=True):
    """A ratio with its interval, and the ratios of the pairs that it comes from."""

    label: str
    figure: str
    verdict: str
    ratio: float
    low: float | None = None
    high: float | None = None
    ratios: list[float] = []
    color: int = 0
    confidence: float = 0.95


class Pair(Record, frozen=True, kw_only=True):
    """Charged throughput of the two arms of one interleaved pair."""

    a: float
    b: float


class Pairs(Record, frozen=True, kw_only=True):
    """Pairs of one arm against the winner."""

    a: str
    b: str
    color: int
    pairs: list[Pair]


class TrialRow(Record, frozen=True, kw_only=True):
    """A trial as it is drawn and listed."""

    number: int
    kind: str
    status: str
    name: str
    score: float | None
    best: float | None
    """Best believed score so far, among what is measured in the search."""
    seconds: float
    says: str
    color: int = 5
    href: str = ""


class KnobRow(Record, frozen=True, kw_only=True):
    """A line of the winning configuration."""

    name: str
    before: str
    after: str
    effect: Effect | None = None


class StudyView(Record, frozen=True, kw_only=True):
    """All that a study's report says."""

    name: str
    title: str
    status: str
    subtitle: list[str]
    answer: Answer
    checks: list[Check]
    doubts: list[Note]
    gone: dict[str, str] = {}
    arms: list[Arm] = []
    bars: list[BarCard] = []
    debts: list[Table] = []
    effects: list[Effect] = []
    pairs: list[Pairs] = []
    trials: list[TrialRow] = []
    trials_says: str = ""
    knobs: list[KnobRow] = []
    configuration: str = ""
    statements: str = ""
    charts: list[Chart] = []
    charts_says: str = ""
    noise: list[Row] = []
    noise_says: str = ""
    contract: list[Row] = []
    environment: list[Row] = []
    caveats: list[str] = []
    methods: list[Row] = []
    links: list[Link] = []
    command: str = ""
