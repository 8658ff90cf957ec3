"""A judgement with its evidence, and what to do about it."""

from __future__ import annotations

import enum

from dbdyno.model.fact import Scalar
from dbdyno.model.knob import Level
from dbdyno.model.record import Record


class Verdict(enum.StrEnum):
    PASS = "pass"
    FAIL = "fail"
    UNKNOWN = "unknown"


class Severity(enum.StrEnum):
    """How bad it is when the verdict is fail."""

    ADVICE = "advice"
    """It works; it could be better."""
    WARNING = "warning"
    """It costs performance now, or will cause trouble under load."""
    CRITICAL = "critical"
    """Data, availability or security are at risk."""

    @property
    def rank(self) -> int:
        """Higher is worse."""
        return list(Severity).index(self)


class Needs(enum.StrEnum):
    """What makes a fix effective."""

    NOTHING = "nothing"
    """It works at once."""
    RELOAD = "reload"
    RESTART = "restart"
    """Of the server."""
    REMOUNT = "remount"
    REBOOT = "reboot"
    REBUILD = "rebuild"
    """Of tables, or of the whole dataset."""
    PERSON = "person"
    """Somebody has to decide or to do it; there is no command that is right for everybody."""


class Fix(Record, frozen=True, kw_only=True):
    """One change that mends a finding. `kind` says who knows how to write, apply and undo it."""

    kind: str
    """`setting` (of the server), `sysctl`, `sysfs`, `limit`, `mount`, `kernel_argument`, `service`, `statement`,
    `manual`."""
    name: str
    """The setting's name, the key, the path."""
    value: str = ""
    before: str = ""
    """What it was; the undo goes back to it."""
    live: str = ""
    """Command or statement that changes it now."""
    file: str = ""
    """File in which it lasts, and …"""
    line: str = ""
    """… the line that it takes there."""
    needs: Needs = Needs.NOTHING
    undo: str = ""
    """Command or statement that takes it back."""
    fact: str = ""
    """The fact that it changes to `value`, for a new judgement without a new reading; empty: `setting.<name>` when the
    kind is `setting`, else none."""

    @property
    def changes(self) -> str:
        """Name of the fact that it changes; empty when none is known."""
        return self.fact or (f"setting.{self.name}" if self.kind == "setting" else "")


class Finding(Record, frozen=True, kw_only=True):
    """What a rule (or a diagnosis) says. Whoever runs the rule fills in what stands in the rule itself."""

    rule: str = ""
    """Id of the rule."""
    verdict: Verdict = Verdict.FAIL
    says: str
    """What was found, in one sentence with the numbers."""
    why: str = ""
    """Why it matters here: the condition that is met."""
    evidence: dict[str, Scalar] = {}
    """The facts that it rests on, by name."""
    severity: Severity = Severity.WARNING
    remedy: str = ""
    """What to do, in words."""
    fixes: tuple[Fix, ...] = ()
    risk: str = ""
    """What the remedy costs or endangers."""
    durability: Level | None = None
    """Highest contract level that the remedy keeps; None when it does not touch durability."""
    verify: str = ""
    """How to see that it worked."""
    undo: str = ""
    source: str = ""
    """Article or manual with its date."""
    title: str = ""
    confidence: float = 1.0
    """0 to 1; below 1 where the evidence allows another reading."""
    ruled_out: tuple[str, ...] = ()
    """Rival explanations that were considered, each with why it does not hold."""
    start_s: float | None = None
    end_s: float | None = None
    """Where in a record it was seen, seconds since its start; None for what has no time."""
    series: tuple[str, ...] = ()
    """Series that show it, as `probe.column` or `probe.column/key`."""
