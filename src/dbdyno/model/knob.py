"""A setting that may be searched, and the table of settings that the durability contract watches."""

from __future__ import annotations

import enum
import math

from dbdyno.model.record import Record

Value = str | int | float
"""A knob's value in its own unit: a number, or a word (`on`, `lz4`, `-1` as a special number)."""
Assignment = dict[str, Value]


class Change(enum.StrEnum):
    """What a change costs."""

    ONLINE = "online"
    RESTART = "restart"
    REBUILD = "rebuild"


class Level(enum.IntEnum):
    """What is promised after a loss of power; see the design's contract table."""

    L0 = 0
    L1 = 1
    L2 = 2
    L3 = 3


class Knob(Record, frozen=True, kw_only=True):
    """A searchable setting. Numeric when `low` and `high` are given, else one of `choices`.

    `special` values lie outside the numeric range and switch a mechanism on or off (0 or -1 in many servers): the
    search first decides between special and numeric, then on the number.
    """

    name: str
    title: str
    unit: str = ""
    """Unit of the number as the server takes it, e.g. `MB`, `ms`, `8kB`; empty for none."""
    low: float | None = None
    high: float | None = None
    integer: bool = True
    log: bool = False
    choices: tuple[str, ...] = ()
    special: tuple[Value, ...] = ()
    default: Value
    change: Change = Change.ONLINE
    memory_bytes_per_unit: float = 0.0
    """How much memory one unit of this knob takes, for the sum that the contract bounds."""
    recovery_bytes_per_unit: float = 0.0
    """How much log one unit of this knob lets stand between two checkpoints, for the recovery budget."""
    recovery_s_per_unit: float = 0.0
    """Seconds of recovery that one unit is worth when it bounds recovery by time rather than by volume."""
    searched: bool = True
    """Whether it is in the search by default; else only when it is named. Formulas may set both kinds."""
    source: str = ""
    """Article or manual that the range comes from, with its date."""

    def admits(self, value: Value) -> bool:
        """Whether the value is one that the search may ask for."""
        if value in self.special:
            return True
        if self.choices:
            return str(value) in self.choices
        if not isinstance(value, int | float) or self.low is None or self.high is None:
            return False
        return self.low <= value <= self.high and not (self.integer and not math.isclose(value, round(value)))


class Guard(Record, frozen=True, kw_only=True):
    """One row of the contract's table: which values of a durability-relevant setting keep which promise."""

    setting: str
    levels: dict[str, Level]
    """Level that each value permits at most; a value not listed permits `otherwise`."""
    otherwise: Level = Level.L3
    pitr: tuple[str, ...] = ()
    """Values that point-in-time recovery needs; empty when it does not care. `!0` stands for anything but `0`."""
    replication: tuple[str, ...] = ()
    maintenance: tuple[str, ...] = ()
    instead: str = ""
    """Another setting that makes this row moot when it is not empty."""
    unless: dict[str, str] = {}
    """Values of other settings with which this row is moot."""
    why: str = ""


class KnobSpace(Record, frozen=True, kw_only=True):
    """All that may be searched on one engine, version and machine, and all that is watched."""

    knobs: tuple[Knob, ...]
    guards: tuple[Guard, ...]
    needs: dict[str, Assignment] = {}
    """What to set so that a promise of the contract holds where the defaults do not give it, by the promise's name:
    `pitr`, `replication`, `maintenance`, or the level (`L3`)."""
    recovery_bytes_per_s: float = 0.0
    """Assumed speed of recovery before it was measured, bytes of log per second; 0: no estimate."""

    def knob(self, name: str) -> Knob | None:
        return next((knob for knob in self.knobs if knob.name == name), None)


class Advice(Record, frozen=True, kw_only=True):
    """A whole configuration from a formula, each setting with its reason."""

    name: str
    """Short: `formula`, `pgtune`."""
    title: str
    assignment: dict[str, Value]
    reasons: dict[str, str]
    source: str = ""


class Setting(Record, frozen=True, kw_only=True):
    """A setting as the running server has it."""

    name: str
    value: str
    """In the server's own words and base unit."""
    unit: str = ""
    source: str = ""
    """Where the server says that it comes from: default, file, command line."""
    pending_restart: bool = False
    choices: tuple[str, ...] = ()
    """Words that this very build accepts, when it takes words."""
    persisted: bool = False
    """Whether the value in force was set through the server itself (as `Session.apply` does), not by a file of the
    owner's."""
