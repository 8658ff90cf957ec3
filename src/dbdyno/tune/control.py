"""What the tuner needs from a server, whoever owns it.

Two implementations: a sandbox (`sandbox_control`), where everything may be done and each trial starts from the same
dataset, and a server of somebody's (`foreign_control`), which is changed with care and put back. Tests bring a third:
a simulated server on a simulated clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from dbdyno.model.engine import Debt
from dbdyno.model.knob import Assignment, Setting
from dbdyno.model.plan import Plan
from dbdyno.model.run import DoubtNote, Outcome
from dbdyno.model.target import Target

Stop = Callable[[Mapping[str, Any]], bool]
"""Looks at each interval event of the driver; True ends the run early."""


@dataclass(frozen=True)
class Started:
    """A server that was started with an assignment, in its own words."""

    settings: Mapping[str, Setting]
    differing: Mapping[str, str] = field(default_factory=dict)
    """What the server says of settings that are not what was asked for, by name."""


@dataclass(frozen=True)
class Recovery:
    """A crash of the process under load and the start after it."""

    seconds: float
    """From the start command until it answered a query."""
    loaded_s: float
    """How long it had been under load since its last checkpoint."""
    start_s: float = 0.0
    """How long an ordinary start of the same server took: the part of recovery that does not grow with the log."""


class Controller(Protocol):
    """At most seven methods. Errors are `DynoError`s; a start that fails raises one that quotes the server's log."""

    @property
    def target(self) -> Target: ...
    @property
    def standing(self) -> Sequence[DoubtNote]:
        """Doubts that hold for every trial here."""
        ...

    @property
    def can_restart(self) -> bool:
        """Whether settings that need a restart can be changed at all."""
        ...

    def look(self) -> Mapping[str, Setting]:
        """The settings as they are, without changing any."""
        ...

    def start(self, assignment: Assignment) -> Started:
        """Makes the server run with the assignment on a fresh dataset and a fresh engine, as far as it can."""
        ...

    def measure(self, plan: Plan, folder: Path, stop: Stop | None = None) -> Outcome: ...
    def settle(self) -> Debt: ...
    def stop(self) -> None:
        """After a trial. Leaves the server as it is where it is not ours."""
        ...

    def recover(self, assignment: Assignment, plan: Plan, folder: Path, *, after_s: float) -> Recovery | None:
        """Crashes the server's process after so many seconds of load and times its recovery; None where that is not
        ours to do."""
        ...

    def restore(self) -> list[str]:
        """Puts back what was found before the first change. Returns what could not be put back, in words."""
        ...
