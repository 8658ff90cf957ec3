"""Makes the recordings that a diagnosis brings along: one in which its cause is at work, one in which it is not.

Two minutes at one sample a second, with one stall in the middle. Every series has a level, and another one during the
stall; a ripple of one part in a hundred stands for noise (a sine, so that an example is the same for ever).

    example = Example(stall=(60, 70))
    example.level("checkpoints.requested", 0.0, during=1.0, role="checkpoints_requested")
    example.fact("setting.max_wal_size", 1024, unit="MB")
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dbdyno.model.fact import Fact, Scalar
from dbdyno.model.facts import Facts
from dbdyno.model.recording import Event, Floats, MemoryRecording, Series, Stall, StallKind

_RIPPLE = 0.01


class Example(MemoryRecording):
    """A made recording. `stall` is its start and end in seconds, None for a record without one."""

    def __init__(
        self,
        *,
        seconds: int = 120,
        stall: tuple[float, float] | None = (60.0, 70.0),
        usual_per_s: float = 1000.0,
        lowest_per_s: float = 20.0,
        kind: StallKind = StallKind.DIP,
    ) -> None:
        super().__init__(duration_s=float(seconds))
        self.clock: Floats = np.arange(1.0, seconds + 1.0)
        self._window = stall
        if stall is not None:
            lost = (usual_per_s - lowest_per_s) * (stall[1] - stall[0])
            self.stalls = (
                Stall(
                    start_s=stall[0],
                    end_s=stall[1],
                    usual_per_s=usual_per_s,
                    lowest_per_s=lowest_per_s,
                    mean_per_s=lowest_per_s,
                    lost=lost,
                    kind=kind,
                ),
            )
        values = self._values(usual_per_s, lowest_per_s)
        self.throughput = Series("throughput", self.clock, values, "1/s")

    def level(self, name: str, usual: float, *, during: float | None = None, unit: str = "", role: str = "") -> Example:
        """A series at the level `usual`, and at `during` in the stall. Counters are given as rates per second."""
        self.add(name, self.clock, self._values(usual, during), unit=unit, role=role)
        return self

    def curve(self, name: str, of: Callable[[Floats], npt.ArrayLike], *, unit: str = "", role: str = "") -> Example:
        """A series that is a function of the time in seconds."""
        self.add(name, self.clock, np.asarray(of(self.clock), dtype=np.float64), unit=unit, role=role)
        return self

    def words(self, name: str, usual: str, *, during: str | None = None) -> Example:
        """A column of words, and other words in the stall."""
        inside = self._inside()
        said = [during if during is not None and here else usual for here in inside]
        self.add_texts(name, [(float(t), word) for t, word in zip(self.clock, said, strict=True)])
        return self

    def fact(self, name: str, value: Scalar, *, unit: str = "") -> Example:
        self.facts = Facts([*self.facts, Fact(name=name, value=value, unit=unit)])
        return self

    def event(self, t_s: float, kind: str, *, end_s: float | None = None, says: str = "") -> Example:
        self.events = (*self.events, Event(t_s=t_s, kind=kind, end_s=end_s, says=says))
        return self

    def _inside(self) -> list[bool]:
        if self._window is None:
            return [False] * self.clock.size
        start, end = self._window
        return [bool(one) for one in (self.clock > start) & (self.clock <= end)]

    def _values(self, usual: float, during: float | None) -> Floats:
        ripple = 1 + _RIPPLE * np.sin(self.clock * 2.4)
        level = np.where(self._inside(), usual if during is None else during, usual)
        return np.asarray(level * ripple, dtype=np.float64)
