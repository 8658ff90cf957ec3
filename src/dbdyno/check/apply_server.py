"""The server that a plan is applied to: sets through its own session, restarts as its owner or its sandbox does."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

from dbdyno.model.clock import Clock
from dbdyno.model.engine import Inspection
from dbdyno.model.errors import TargetError
from dbdyno.model.target import Permission
from dbdyno.sandbox.targets import Resolved

RESTART_TIMEOUT_S = 300.0
_POLL_S = 0.1


class TargetServer:
    """See `dbdyno.check.apply.ServerHand`. Raises `PermissionRefused` when the target does not allow to be tuned."""

    def __init__(self, resolved: Resolved, clock: Clock) -> None:
        self._resolved = resolved
        self._clock = clock
        resolved.target.require(Permission.TUNE, "change its settings")

    @property
    def writes_file(self) -> bool:
        return self._resolved.sandbox is not None

    def found(self, names: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
        if (sandbox := self._resolved.sandbox) is not None:
            return {}, {name: str(value) for name, value in sandbox.state.assignment.items() if name in names}
        session = self._session()
        try:
            settings = session.settings()
        finally:
            session.close()
        there = {name: settings[name] for name in names if name in settings}
        values = {name: setting.value for name, setting in there.items()}
        return values, {name: values[name] for name, setting in there.items() if setting.persisted}

    def change(self, settings: dict[str, str], reset: Sequence[str] | Mapping[str, str]) -> list[str]:
        if (sandbox := self._resolved.sandbox) is not None:
            # Its whole configuration is written anew: so it can also be taken back when it does not start.
            kept = {name: value for name, value in sandbox.state.assignment.items() if name not in reset}
            if sandbox.running():
                sandbox.stop()
            sandbox.start({**kept, **settings})
            return []
        session = self._session()
        try:
            waiting = session.apply(dict(settings), reset=reset)
        finally:
            session.close()
        target = self._resolved.target
        if target.reload_command:
            self._shell(target.reload_command)
        if waiting and self._restart():
            return []
        return waiting

    def alive(self) -> None:
        """Asks until the time for a start is over. Raises `TargetError`."""
        deadline = self._clock.monotonic() + RESTART_TIMEOUT_S
        while True:
            try:
                self._session().close()
                return
            except TargetError:
                if self._clock.monotonic() > deadline:
                    raise
                self._clock.sleep(_POLL_S)

    def _session(self) -> Inspection:
        sandbox = self._resolved.sandbox
        target, secret = (sandbox.target, sandbox.secret) if sandbox else (self._resolved.target, self._resolved.secret)
        return self._resolved.kind.connect(target, secret)

    def _restart(self) -> bool:
        """Whether it was restarted: only when its target file says how."""
        command = self._resolved.target.restart_command
        if command is None:
            return False
        self._shell(command)
        self.alive()
        return True

    def _shell(self, command: str) -> None:
        """A command of the owner's target file. Raises `TargetError`."""
        try:
            done = subprocess.run(
                command, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                timeout=RESTART_TIMEOUT_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise TargetError(f"{command!r} does not end.", found=f"it ran for {RESTART_TIMEOUT_S:g} s") from None
        if done.returncode:
            raise TargetError(f"{command!r} failed.", found=f"it ended with {done.returncode}")
