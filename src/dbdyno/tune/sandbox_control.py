"""A sandbox under the tuner: each trial gets a fresh dataset, a fresh server, and the whole configuration written anew.

Knobs that could be changed online get a restart all the same, so that every trial starts in the same engine state:
empty cache, no checkpoint under way, statistics at zero.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from dbdyno.model.clock import Clock
from dbdyno.model.engine import Debt, Session
from dbdyno.model.errors import DynoError, SandboxError
from dbdyno.model.knob import Assignment, Setting, Value
from dbdyno.model.plan import Plan
from dbdyno.model.run import DoubtNote, Outcome
from dbdyno.model.target import Target
from dbdyno.run.execute import execute
from dbdyno.sandbox.copying import ResetCost
from dbdyno.sandbox.sandbox import Sandbox
from dbdyno.tune.control import Recovery, Started, Stop

Answer = TypeVar("Answer")

RECOVERY_TIMEOUT_FACTOR = 5.0
"""So many times the contract's recovery time are waited for, so that a breach is measured and not only met."""


class SandboxController:
    """See `dbdyno.tune.control.Controller`. The sandbox's lock must be held, and it must have a pristine copy."""

    can_restart = True
    standing: tuple[DoubtNote, ...] = ()

    def __init__(self, sandbox: Sandbox, clock: Clock, *, recovery_s_max: float) -> None:
        self.sandbox = sandbox
        self._clock = clock
        self._recovery_timeout_s = recovery_s_max * RECOVERY_TIMEOUT_FACTOR
        self.resets: list[ResetCost] = []
        """What each reset of the dataset cost."""

    @property
    def target(self) -> Target:
        return self.sandbox.target

    def look(self) -> Mapping[str, Setting]:
        if not self.sandbox.running():
            self.sandbox.start({})
        try:
            return self._with_session(lambda session: session.settings())
        finally:
            self.sandbox.stop()

    def start(self, assignment: Assignment) -> Started:
        self.sandbox.stop()
        self.resets.append(self.sandbox.reset())
        self.sandbox.start(assignment)
        return self._with_session(lambda session: read_back(session, assignment))

    def measure(self, plan: Plan, folder: Path, stop: Stop | None = None) -> Outcome:
        ended = threading.Event()

        def look_at(event: dict[str, Any]) -> None:
            if stop is not None and stop(event):
                ended.set()

        return self._execute(plan, folder, look_at, ended)

    def _execute(
        self, plan: Plan, folder: Path, on_event: Callable[[dict[str, Any]], None], stop: threading.Event
    ) -> Outcome:
        sandbox = self.sandbox
        return execute(
            plan,
            sandbox.secret,
            sandbox.engine,
            clock=self._clock,
            folder=folder,
            server_pids=sandbox.server_pids,
            device=sandbox.device(),
            data_folder=sandbox.data,
            on_event=on_event,
            stop=stop,
            server_log=sandbox.log_tail,
        )

    def settle(self) -> Debt:
        return self._with_session(lambda session: session.settle())

    def stop(self) -> None:
        self.sandbox.stop()

    def recover(self, assignment: Assignment, plan: Plan, folder: Path, *, after_s: float) -> Recovery | None:
        self.start(assignment)
        self.sandbox.stop()
        start_s = self.sandbox.start()
        self.settle()
        ended = threading.Event()
        loaded_s: list[float] = []
        begun: list[float] = []

        def crash_when_due(event: dict[str, Any]) -> None:
            at = float(event.get("t_s", 0.0))
            if event.get("event") == "phase" and not begun:
                begun.append(at)
            if event.get("event") == "interval" and begun and not loaded_s and at - begun[0] >= after_s - 1.0:
                self.sandbox.crash()
                loaded_s.append(at - begun[0])
                ended.set()

        try:
            self._execute(plan, folder, crash_when_due, ended)
        except DynoError:
            # The driver lost its server, as it had to.
            if not loaded_s:
                raise
        if not loaded_s:
            raise SandboxError(
                "The load ended before the server was to be crashed.", found=f"after less than {after_s:g} s"
            )
        seconds = self.sandbox.recover(timeout_s=self._recovery_timeout_s)
        return Recovery(seconds=seconds, loaded_s=loaded_s[0], start_s=start_s)

    def restore(self) -> list[str]:
        """A private server has nothing of anybody's: it is only stopped, on its pristine data."""
        self.sandbox.stop()
        return []

    def _with_session(self, ask: Callable[[Session], Answer]) -> Answer:
        session = self.sandbox.engine.connect(self.sandbox.target, self.sandbox.secret)
        try:
            return ask(session)
        finally:
            session.close()


def read_back(session: Session, assignment: Assignment) -> Started:
    """The settings as the server has them, and where they are not what was asked for."""
    settings = session.settings()
    return Started(settings=settings, differing=differing(session, settings, assignment))


def differing(session: Session, settings: Mapping[str, Setting], assignment: Mapping[str, Value]) -> dict[str, str]:
    """What the server says of settings that are not what was asked for, by name."""
    found: dict[str, str] = {}
    for name, value in assignment.items():
        setting = settings.get(name)
        if setting is None:
            found[name] = "not known to the server"
        elif setting.pending_restart:
            found[name] = f"{setting.value} until a restart, not {value}"
        elif not session.agrees(setting, value):
            found[name] = f"{setting.value} {setting.unit}".strip() + f", not {value}"
    return found
