"""Somebody's server under the tuner: changed through the server itself, and put back as it was found.

What was found is written to `original.json` before the first change, so that a killed study can be undone later
(`restore_server`, `dyno tune --restore`). Settings that a trial does not name go back to what was found, so `default`
here means "as its owner has it". The dataset cannot be reset and the server is never crashed; both are said.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from dbdyno.model.clock import Clock
from dbdyno.model.engine import Debt, Engine, Session
from dbdyno.model.errors import DynoError, TargetError
from dbdyno.model.knob import Assignment, Setting
from dbdyno.model.plan import Plan
from dbdyno.model.run import Doubt, DoubtNote, Outcome
from dbdyno.model.target import Permission, Secret, Target
from dbdyno.run.execute import execute
from dbdyno.tune.control import Recovery, Started, Stop
from dbdyno.tune.sandbox_control import differing
from dbdyno.tune.store import StudyStore

Answer = TypeVar("Answer")

RESTART_TIMEOUT_S = 300.0
_POLL_S = 0.1

NOT_RESET = DoubtNote(
    doubt=Doubt.DATASET_NOT_RESET,
    says="The dataset is not put back between trials on a server that is not a sandbox: later trials run on a larger, "
    "older one.",
    helps="tune a sandbox, or compare only what the anchors correct",
)


class Server:
    """Connects, applies, restarts. Only what the target allows."""

    def __init__(self, target: Target, secret: Secret, engine: Engine, clock: Clock) -> None:
        self.target = target
        self.secret = secret
        self.engine = engine
        self.clock = clock

    def ask(self, question: Callable[[Session], Answer]) -> Answer:
        session = self.engine.connect(self.target, self.secret)
        try:
            return question(session)
        finally:
            session.close()

    def settings(self) -> dict[str, Setting]:
        return self.ask(lambda session: session.settings())

    def change(self, assignment: Assignment, reset: Mapping[str, str]) -> list[str]:
        """Applies, reloads, restarts where that is needed and can be done. Returns what still waits for a restart."""
        self.target.require(Permission.TUNE, "change its settings")
        waiting = self.ask(lambda session: session.apply(assignment, reset=reset))
        if self.target.reload_command:
            self._shell(self.target.reload_command, "reload")
        if not waiting or not self.target.restart_command:
            return waiting
        self.restart()
        return [name for name, setting in self.settings().items() if setting.pending_restart and name in waiting]

    def restart(self) -> None:
        """Runs the owner's restart command and waits until the server answers. Raises `TargetError`."""
        assert self.target.restart_command, "asked for only where there is one"
        self._shell(self.target.restart_command, "restart")
        deadline = self.clock.monotonic() + RESTART_TIMEOUT_S
        while True:
            try:
                self.ask(lambda session: session.version)
                return
            except TargetError as error:
                if self.clock.monotonic() > deadline:
                    raise TargetError(
                        f"{self.target.label} does not answer {RESTART_TIMEOUT_S:g} s after its restart command.",
                        found=error.found or error.what,
                        todo="see the server's log",
                    ) from error
                self.clock.sleep(_POLL_S)

    def _shell(self, command: str, to: str) -> None:
        try:
            done = subprocess.run(
                command,
                shell=True,
                stdin=subprocess.DEVNULL,
                # A server that the command leaves running must not hold our pipe open.
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=RESTART_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise TargetError(
                f"The {to} command of {self.target.label} does not end.",
                found=f"{command!r} ran for {RESTART_TIMEOUT_S:g} s",
            ) from None
        if done.returncode:
            raise TargetError(
                f"The {to} command of {self.target.label} failed.",
                found=f"{command!r} ended with {done.returncode}",
                todo="run it by hand and see what it says",
            )


def restore_server(server: Server, original: Mapping[str, Setting], names: Iterable[str]) -> list[str]:
    """Puts settings back to what was found; returns what is not as it was, in words."""
    known = [name for name in names if name in original]
    kept = {name: original[name].value for name in known if original[name].persisted}
    try:
        server.change(dict(kept), {name: original[name].value for name in known if name not in kept})
        now = server.settings()
    except DynoError as error:
        return [f"nothing of {', '.join(known)} ({error.what} {error.found})"]
    left = []
    for name in known:
        if name not in now:
            continue
        if now[name].value == original[name].value:
            # It may still be called pending: the server compares with what it was asked, not with what it has.
            continue
        if now[name].pending_restart:
            left.append(f"{name} is still {now[name].value}: restart the server to get {original[name].value} back")
        else:
            left.append(f"{name} is {now[name].value}, was {original[name].value}")
    return left


class ForeignController:
    """See `dbdyno.tune.control.Controller`."""

    standing = (NOT_RESET,)

    def __init__(
        self, server: Server, store: StudyStore, names: Sequence[str], original: Mapping[str, Setting]
    ) -> None:
        """`names` are the settings that may be touched; `original` is empty unless a study is resumed."""
        self.server = server
        self.target = server.target
        self.can_restart = bool(server.target.restart_command)
        self._store = store
        self._names = tuple(names)
        self._original: Mapping[str, Setting] = original
        self._touched: set[str] = set()

    def look(self) -> Mapping[str, Setting]:
        return self.server.settings()

    def start(self, assignment: Assignment) -> Started:
        self._remember()
        reset = sorted((self._touched | set(self._names)) - set(assignment))
        reset = [name for name in reset if name in self._original]
        kept: Assignment = {name: self._original[name].value for name in reset if self._original[name].persisted}
        self._touched |= set(assignment)
        found_with = {name: self._original[name].value for name in reset if name not in kept}
        self.server.change({**kept, **assignment}, found_with)

        def read(session: Session) -> Started:
            settings = session.settings()
            return Started(settings, differing(session, settings, assignment))

        return self.server.ask(read)

    def _remember(self) -> None:
        """Before the first change, what there is goes to the disk."""
        if not self._original:
            self._original = self.server.settings()
            self._store.write_original(dict(self._original))

    def measure(self, plan: Plan, folder: Path, stop: Stop | None = None) -> Outcome:
        self.target.require(Permission.LOAD, "put load on it")
        ended = threading.Event()

        def look_at(event: dict[str, Any]) -> None:
            if stop is not None and stop(event):
                ended.set()

        return execute(
            plan,
            self.server.secret,
            self.server.engine,
            clock=self.server.clock,
            folder=folder,
            on_event=look_at,
            stop=ended,
        )

    def settle(self) -> Debt:
        return self.server.ask(lambda session: session.settle())

    def stop(self) -> None:
        """It goes on running: it is not ours."""

    def recover(self, assignment: Assignment, plan: Plan, folder: Path, *, after_s: float) -> Recovery | None:
        return None

    def restore(self) -> list[str]:
        if not self._original:
            return []
        return restore_server(self.server, self._original, sorted(self._touched | set(self._names)))
