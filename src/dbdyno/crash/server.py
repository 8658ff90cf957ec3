"""A server on whatever file system a proof mounts: a sandbox whose data lies elsewhere."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from dbdyno.crash.hooks import preloaded
from dbdyno.model.clock import Clock
from dbdyno.model.engine import Installation, Recipe
from dbdyno.model.knob import Assignment, Value
from dbdyno.model.target import Secret, Target
from dbdyno.sandbox import process
from dbdyno.sandbox.copying import remove_tree
from dbdyno.sandbox.options import SandboxOptions
from dbdyno.sandbox.records import SandboxRecord
from dbdyno.sandbox.sandbox import Sandbox

_SOCKET_PATH_MAX = 90
_BURY_TRIES, _BURY_PAUSE_S = 200, 0.01
DATA = "data"
"""The server's folder at the root of the file system."""


class CrashServer(Sandbox):
    """Runs as the sandbox would that it is made after: same binaries, same user, same password."""

    def __init__(self, model: Sandbox, folder: Path, point: Path, clock: Clock, *, preload: str = "") -> None:
        """`folder` keeps log, socket and state; `point` is where the file system is mounted."""
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o711)
        secret = folder / "secret"
        if not secret.exists():
            secret.touch(mode=0o600)
            shutil.copyfile(model.folder / "secret", secret)
        record = SandboxRecord(
            name=model.name,
            engine=model.record.engine,
            installation=model.record.installation,
            options=SandboxOptions(),
            identity=model.record.identity,
            user=model.record.user,
            database=model.record.database,
            socket_dir=str(_socket_dir(folder)),
            made_with=model.record.made_with,
            created_unix_s=clock.unix(),
        )
        super().__init__(folder, record, model.engine, clock)
        self._point = point
        self._pids: list[int] = []
        if preload:
            self._recipe = Preloaded(self._recipe, preload)

    @property
    def data(self) -> Path:
        return self._point / DATA

    def initialise(self) -> None:
        """Makes an empty server. Raises `SandboxError` with the tool's words."""
        identity, password = self.record.identity, self.folder / "secret"
        if identity:
            os.chown(self._point, identity.uid, identity.gid)
            os.chown(password, identity.uid, identity.gid)
        self._recipe.initialise(
            self.installation,
            self.data,
            user=self.record.user,
            run_as=identity.name if identity else None,
            password_file=password,
            made_with=self.record.made_with,
        )
        if identity:
            os.chown(password, os.getuid(), os.getgid())

    def _launch(self, port: int, join: list[str], *, keep: bool) -> None:
        super()._launch(port, join, keep=keep)
        self._pids += [self.state.process.pid] if self.state.process else []

    def forget(self) -> None:
        """Once it was killed: waits until the last of its threads is gone, which may take a moment longer than the
        process looks dead, and removes the socket's folder, which may lie elsewhere."""
        for pid in self._pids:
            for _ in range(_BURY_TRIES):
                process.reap(pid)
                if process.read_stat(pid) is None:
                    break
                self._clock.sleep(_BURY_PAUSE_S)
        self._pids.clear()
        remove_tree(Path(self.record.socket_dir))


def _socket_dir(folder: Path) -> Path:
    near = folder / "run"
    if len(str(near).encode()) <= _SOCKET_PATH_MAX:
        return near
    base = Path("/run") if os.geteuid() == 0 else Path(os.environ.get("XDG_RUNTIME_DIR") or "/tmp")
    return base / f"dyno-{os.getuid()}-{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}"


class Preloaded:
    """A recipe whose server runs with a library loaded before all others. See `dbdyno.model.engine.Recipe`."""

    def __init__(self, recipe: Recipe, library: str) -> None:
        self._recipe, self._library = recipe, library

    def installations(self, bin_dir: Path | None = None) -> list[Installation]:
        return self._recipe.installations(bin_dir)

    def initialise(
        self,
        installation: Installation,
        data: Path,
        *,
        user: str,
        run_as: str | None,
        password_file: Path | None = None,
        made_with: Mapping[str, Value] | None = None,
    ) -> None:
        self._recipe.initialise(
            installation, data, user=user, run_as=run_as, password_file=password_file, made_with=made_with
        )

    def configure(self, data: Path, *, port: int, socket_dir: Path, assignment: Assignment) -> None:
        self._recipe.configure(data, port=port, socket_dir=socket_dir, assignment=assignment)

    def command(self, installation: Installation, data: Path) -> list[str]:
        return preloaded(self._recipe.command(installation, data), self._library)

    def ready(self, target: Target, secret: Secret) -> bool:
        return self._recipe.ready(target, secret)

    def stop_signal(self, mode: str) -> int:
        return self._recipe.stop_signal(mode)

    def log_files(self, data: Path) -> list[Path]:
        return self._recipe.log_files(data)
