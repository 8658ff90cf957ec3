"""Time as an argument: only the command line makes a real clock, tests bring a simulated one."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Seconds. `monotonic` is the kernel's CLOCK_MONOTONIC, so that it can be compared with the driver's."""

    def monotonic(self) -> float: ...
    def unix(self) -> float: ...
    def sleep(self, seconds: float) -> None: ...
