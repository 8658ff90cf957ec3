"""What the verbs share: the real clock, the home folder, targets, the console."""

from __future__ import annotations

import os
import time

from rich.console import Console

from dbdyno.model.home import Home, find_home


class SystemClock:
    """The machine's clock; the only one in the package."""

    def monotonic(self) -> float:
        return time.monotonic()

    def unix(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))


def home() -> Home:
    return find_home(os.environ)


def console(*, stderr: bool = False) -> Console:
    """Words for people; honours NO_COLOR and pipes."""
    return Console(stderr=stderr, highlight=False, soft_wrap=True)
