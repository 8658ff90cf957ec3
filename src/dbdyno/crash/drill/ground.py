"""What drills stand on: servers and folders of their own, the ledger's load, and what the engine knows of backups."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dbdyno.crash.acks import History, read_history
from dbdyno.crash.server import CrashServer
from dbdyno.model.clock import Clock
from dbdyno.model.drill import Backup, DrillPlan, Place, Replication
from dbdyno.model.engine import Engine
from dbdyno.model.errors import DriverError, DynoError, HostError, SandboxError, UsageError
from dbdyno.model.plan import Phase, Plan, WorkloadSpec
from dbdyno.run.driver import Driver, find_driver, load_dataset, run_plan
from dbdyno.sandbox import copying
from dbdyno.sandbox.process import Identity
from dbdyno.sandbox.sandbox import Sandbox

TOOL_S = 300
"""Longest run of one of an engine's tools."""
LOAD_S_MAX = 900.0
"""The load ends by itself then, should a drill take longer."""
ACKS_MIN = 50
"""Acknowledgements of each stretch of load: a slow machine gets more time for them."""
STALL_S = 60.0
"""So long the load may get nothing acknowledged."""
_POLL_S = 0.05
_ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "TZ": "UTC"}

Say = Callable[[str], None]


def backup_of(engine: Engine, tool: str = "") -> tuple[Backup, Replication] | None:
    """What the engine's folder knows of backups: the module `backup` beside its recipe, which engines may share. None
    when there is none. Raises `UsageError` for a tool that it does not know."""
    package = type(engine.recipe()).__module__.rpartition(".")[0]
    if importlib.util.find_spec(f"{package}.backup") is None:
        return None
    found = importlib.import_module(f"{package}.backup")
    if tool and tool not in found.BACKUPS:
        raise UsageError(f"{engine.name} is not backed up with {tool!r}.", todo="use: " + ", ".join(found.BACKUPS))
    usual = next(iter(found.BACKUPS))
    return found.BACKUPS[tool or usual](), found.Replication()


def work_folder(model: Sandbox) -> Path:
    """Of the sandbox's drills. Whatever is in it belongs to one that has ended."""
    return model.folder / "drill"


def clean(model: Sandbox, clock: Clock) -> None:
    """Ends and removes what a killed drill left on this sandbox, whose lock must be held."""
    for folder in work_folder(model).glob("*/state.json"):
        server = CrashServer(model, folder.parent, folder.parent / "disk", clock)
        server.crash()
        server.forget()
    copying.remove_tree(work_folder(model))


@dataclass
class Ground:
    """One drill's servers and folders; all of it is gone at the end of the block `laid`."""

    model: Sandbox
    clock: Clock
    plan: DrillPlan
    say: Say
    folder: Path
    servers: list[CrashServer] = field(default_factory=list)
    load: Load | None = None

    @property
    def identity(self) -> Identity | None:
        return self.model.record.identity

    def server(self, name: str) -> CrashServer:
        """A private server with the sandbox's binaries; it has no data yet."""
        disk = self.own(f"{name}/disk")
        server = CrashServer(self.model, self.folder / name, disk, self.clock)
        self.servers.append(server)
        return server

    def own(self, name: str) -> Path:
        """An empty folder that only the servers' user may enter."""
        folder = self.folder / name
        folder.mkdir(parents=True)
        folder.parent.chmod(0o711)
        folder.chmod(0o700)
        if self.identity:
            os.chown(folder, self.identity.uid, self.identity.gid)
        return folder

    def place(self, server: CrashServer) -> Place:
        """The server as an engine's tools see it; made anew after each start, as the port may have changed."""
        scratch = server.folder / "scratch"
        if not scratch.exists():
            self.own(f"{server.folder.name}/scratch")
        programs = Path(server.installation.bin)
        return Place(server.target, server.secret, server.data, programs, scratch, self.run)

    def run(self, command: list[str], *, stdin: Path | None = None, stdout: Path | None = None) -> None:
        """See `dbdyno.model.drill.Run`."""
        name, one = Path(command[0]).name, self.identity
        with contextlib.ExitStack() as stack:
            source = stack.enter_context(stdin.open("rb")) if stdin else subprocess.DEVNULL
            sink = stack.enter_context(stdout.open("wb")) if stdout else subprocess.PIPE
            try:
                done = subprocess.run(
                    command,
                    user=one.uid if one else None,
                    group=one.gid if one else None,
                    extra_groups=[] if one else None,
                    umask=0o077,
                    cwd="/",
                    env=_ENVIRONMENT,
                    stdin=source,
                    stdout=sink,
                    stderr=subprocess.PIPE,
                    timeout=TOOL_S,
                    check=False,
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                raise HostError(f"{name} could not be run.", found=str(error)) from None
        if done.returncode != 0:
            lines = (done.stderr or done.stdout or b"").decode("utf-8", "replace").strip().splitlines()
            raise SandboxError(f"{name} failed.", found="; ".join(lines[-4:]) or f"exit status {done.returncode}")

    def bytes_of(self, folder: Path) -> int:
        return copying.tree_bytes(folder)


@contextlib.contextmanager
def laid(model: Sandbox, plan: DrillPlan, clock: Clock, say: Say) -> Iterator[Ground]:
    """A ground for one drill on a sandbox whose lock is held. Nothing of it stays, whatever happens."""
    clean(model, clock)
    folder = work_folder(model)
    folder.mkdir()
    folder.chmod(0o711)
    ground = Ground(model, clock, plan, say, folder)
    try:
        yield ground
    finally:
        if ground.load is not None:
            ground.load.kill()
        for server in ground.servers:
            server.crash()
            server.forget()
        copying.remove_tree(folder)


def new_server(ground: Ground, name: str) -> CrashServer:
    """A server with the ledger's dataset, made with default settings and stopped in order."""
    server, plan = ground.server(name), ground.plan
    ground.say("making a server and its dataset")
    server.initialise()
    server.start({})
    load_dataset(server.target, server.secret, workload(plan), threads=1, seed=plan.seed)
    server.stop()
    return server


def workload(plan: DrillPlan, **more: Any) -> WorkloadSpec:
    return WorkloadSpec(name="ledger", options={"accounts": plan.accounts, "pages": plan.pages, **more})


class Load:
    """The ledger's load on a server, running beside us until it is stopped."""

    def __init__(self, server: CrashServer, ground: Ground) -> None:
        """Starts it. Raises `HostError`."""
        plan = ground.plan
        self._clock = ground.clock
        self._acks = ground.folder / "acks.jsonl"
        self._read, self._seen = 0, 0
        run = Plan(
            target=server.target,
            workload=workload(plan, ack_file=str(self._acks)),
            threads=plan.threads,
            workers=1,
            seed=plan.seed,
            interval_s=0.5,
            phases=(Phase(name="load", time_s=LOAD_S_MAX),),
            reconnects_max=0,
        )
        self._driver = Driver(find_driver(), run_plan(run, server.secret), ground.folder / "driver.log")
        self._stop = threading.Event()
        self._problem: DynoError | None = None
        self._reader = threading.Thread(target=self._drain, daemon=True)
        self._reader.start()
        ground.load = self

    def _drain(self) -> None:
        try:
            for _ in self._driver.events(self._stop):
                pass
        except DynoError as error:
            self._problem = error

    def acknowledged(self) -> int:
        """So far."""
        with contextlib.suppress(FileNotFoundError), self._acks.open("rb") as stream:
            stream.seek(self._read)
            new = stream.read()
            # Only whole lines, so that none is counted half here and half next time.
            new = new[: new.rfind(b"\n") + 1]
            self._read += len(new)
            self._seen += new.count(b'"e":"ack"')
        return self._seen

    def go_on(self, seconds: float, watch: Callable[[], None] = lambda: None) -> None:
        """Lets it run for so long, and until it has got `ACKS_MIN` more. Raises `DriverError` when it ends or hangs."""
        began, before = self._clock.monotonic(), self.acknowledged()
        while (spent_s := self._clock.monotonic() - began) < seconds or self.acknowledged() - before < ACKS_MIN:
            if not self._reader.is_alive():
                self.end()
                raise DriverError("The load ended before its time.", found=self._driver.log_tail())
            if spent_s > seconds + STALL_S:
                raise DriverError(f"The load gets nothing acknowledged for {STALL_S:g} s.", found="transactions hang")
            watch()
            self._clock.sleep(_POLL_S)

    def end(self, *, server_died: bool = False) -> History:
        """Stops it; what it sent and got. Raises `DriverError`, unless its server was made to die."""
        self._stop.set()
        self._reader.join()
        try:
            if self._problem is not None:
                raise self._problem
            self._driver.finish()
        except DriverError:
            if not server_died:
                raise
        finally:
            self._driver.kill()
        return read_history(self._acks)

    def kill(self) -> None:
        """Ends it now; harmless when it has ended."""
        if self._driver.status is None:
            os.kill(self._driver.pid, signal.SIGKILL)
        # It reads until the end; only then may the pipe be closed.
        self._reader.join()
        self._driver.kill()
