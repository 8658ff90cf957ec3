"""A named question to a server or a machine. Read once it gives facts, read on a timer it gives samples."""

from __future__ import annotations

import enum

from dbdyno.model.fact import Scalar
from dbdyno.model.record import Record


class ColumnKind(enum.StrEnum):
    COUNTER = "counter"
    """Only rises, except when the server restarts or statistics are reset; shown as a rate."""
    GAUGE = "gauge"
    KEY = "key"
    """Names the row when a probe answers with several."""
    TEXT = "text"


class Column(Record, frozen=True, kw_only=True):
    name: str
    kind: ColumnKind
    unit: str = ""
    help: str = ""
    role: str = ""
    """What the column means on any engine, e.g. `wal_bytes`, `cache_hits` (the list is in docs/reference/probes.md).
    Code outside an engine's folder asks for roles, never for that engine's names."""


class Probe(Record, frozen=True, kw_only=True):
    """What is asked, and what it takes."""

    name: str
    title: str
    columns: tuple[Column, ...]
    query: str = ""
    """What is sent to the server; empty for probes of the machine."""
    version_min: int = 0
    """Smallest version that it fits, in the engine's own numbering."""
    version_below: int = 0
    """Smallest version that it does not fit any more; 0: none."""
    privilege: str = ""
    """Role or grant without which the server answers with less than the truth; empty for none. `Session.ask` raises
    `TargetError` when it is missing, so that a lack never reads as a healthy value."""
    cost: str = ""
    """What it costs the server, in words: `cheap`, `one row a session`."""
    optional: bool = False
    """Whether it is about a feature that a healthy server need not have: no answer at all weakens no measurement."""
    every_s: float = 1.0
    timeout_s: float = 2.0
    """The server gives up on the question after this long (a statement timeout of the session)."""
    shape: str = ""
    """How the answer becomes rows where it is not a table: see `engines/probefile.py`."""

    def column(self, name: str) -> Column | None:
        return next((column for column in self.columns if column.name == name), None)


class Sample(Record, frozen=True, kw_only=True):
    """One answer. Either `rows`, or `unknown` says why there are none."""

    t_s: float
    """Seconds since the driver's (or the recording's) start, on the monotonic clock: when the question was asked."""
    probe: str
    cost_ms: float = 0.0
    """How long the question took, so that the cost of watching is in every record."""
    rows: tuple[dict[str, Scalar], ...] = ()
    unknown: str = ""
