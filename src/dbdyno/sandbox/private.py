"""A private server: a folder with its data, its disk, its pristine copy, its process.

    <folder>/sandbox.json   what it is          <folder>/volume/data      the server's data
    <folder>/state.json     how it runs         <folder>/volume/pristine  the copy that `reset` goes back to
    <folder>/lock  secret   log/  run/          <folder>/disk.img         the image, when the disk is its own

Nothing is left running when dyno ends, unless that was asked for (`keep`): the kernel ends the server with the thread
that started it, which therefore has to be one that lives as long as the work does (the main thread).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from dbdyno.model.clock import Clock
from dbdyno.model.engine import Engine, Installation, Recipe
from dbdyno.model.errors import HostError, SandboxError
from dbdyno.model.knob import Assignment
from dbdyno.model.machine import DiskClass, Machine
from dbdyno.model.target import Permission, Secret, Target
from dbdyno.sandbox import copying, limits, ports, process
from dbdyno.sandbox.copying import ResetCost
from dbdyno.sandbox.disk import Volume, block_device, rotates
from dbdyno.sandbox.identity import forget_shared
from dbdyno.sandbox.lock import Lock
from dbdyno.sandbox.options import Disk
from dbdyno.sandbox.records import SandboxRecord, SandboxState, read_record, write_record

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 600.0
"""A server with much to write on a slow disk takes minutes to stop cleanly."""
_DYING_TIMEOUT_S = 10.0
_LOG_BYTES_MAX = 16 * 1024**2
_TAIL_BYTES = 256 * 1024


class Sandbox:
    """Made by `dbdyno.sandbox.sandbox.create`, found by `open_sandbox`."""

    def __init__(self, folder: Path, record: SandboxRecord, engine: Engine, clock: Clock) -> None:
        self.folder = folder
        self.record = record
        self.engine = engine
        self._clock = clock
        self._lock = Lock(folder / "lock", record.name)
        self._recipe: Recipe = engine.recipe()
        state = folder / "state.json"
        self._state = read_record(state, SandboxState) if state.exists() else SandboxState()

    # What it is.

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def installation(self) -> Installation:
        return self.record.installation

    @property
    def notes(self) -> tuple[str, ...]:
        """What the machine could not give."""
        return self.record.notes

    @property
    def state(self) -> SandboxState:
        return self._state

    @property
    def data(self) -> Path:
        return self.folder / "volume" / "data"

    @property
    def pristine(self) -> Path:
        return self.folder / "volume" / "pristine"

    @property
    def log(self) -> Path:
        return self.folder / "log" / "server.log"

    @property
    def target(self) -> Target:
        """How to reach it (through its Unix socket). Everything is allowed on a sandbox."""
        return Target(
            engine=self.engine.name,
            host=self.record.socket_dir,
            port=self._state.port,
            user=self.record.user,
            database=self.record.database,
            allow=frozenset(Permission),
            sandbox=self.name,
            scheme=self._scheme,
        )

    @property
    def secret(self) -> Secret:
        return Secret((self.folder / "secret").read_text(encoding="ascii").strip())

    @property
    def url(self) -> str:
        """For other programs; the password is in the file `secret`."""
        record = self.record
        return f"{self._scheme}://{record.user}@/{record.database}?host={record.socket_dir}&port={self._state.port}"

    @property
    def _scheme(self) -> str:
        return self.installation.scheme or self.engine.schemes[0]

    @property
    def volume(self) -> Volume | None:
        disk = self.record.options.disk
        if disk == Disk.PLAIN:
            return None
        return Volume(image=self.folder / "disk.img", point=self.folder / "volume", disk=disk)

    # Who may work on it.

    @contextlib.contextmanager
    def held(self) -> Iterator[Sandbox]:
        """Takes the lock; at the end stops a server that is not to be kept, and puts the disk away. Raises
        `SandboxError` when another dyno has it."""
        with self._locked():
            self._heal()
            try:
                yield self
            finally:
                if not self._state.keep or not self.running():
                    self.release()

    def release(self, mode: str = "fast") -> float:
        """Stops the server, unmounts the disk, gives back what was taken from the machine. Returns the seconds that
        the server took to stop."""
        with self._locked():
            seconds = self.stop(mode)
            self._detach()
            return seconds

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        first = not self._lock.held
        self._lock.acquire()
        try:
            path = self.folder / "state.json"
            if first and path.exists():
                # Another dyno may have changed it since we looked.
                self._state = read_record(path, SandboxState)
            yield
        finally:
            self._lock.release()

    def _remember(self, **changes: object) -> None:
        fields = {name: getattr(self._state, name) for name in SandboxState.__struct_fields__}
        self._state = SandboxState(**{**fields, **changes})
        write_record(self.folder / "state.json", self._state)

    # Its disk.

    def attach(self) -> None:
        """Makes the data reachable: mounts the disk, ends a reset that was cut off. Starting does it by itself."""
        with self._locked():
            if volume := self.volume:
                self._remember(device=volume.attach(lambda _: None))
            for leftover in (self.data, self.pristine):
                copying.remove_tree(leftover.with_name(leftover.name + ".new"))
            copying.remove_tree(self.data.with_name("data.trash"))
            old = self.pristine.with_name("pristine.old")
            if old.exists() and not self.pristine.exists():
                old.rename(self.pristine)
            copying.remove_tree(old)
            if not self.data.exists() and self.pristine.exists():
                copying.copy_tree(self.pristine, self.data, self._clock)

    def _detach(self) -> None:
        if limits.remove_groups(self._state.groups):
            self._clock.sleep(0.2)
        stayed = limits.remove_groups(self._state.groups)
        if volume := self.volume:
            self._throttle(on=False)
            volume.detach(self._clock)
        self._remember(device=None, groups=tuple(stayed))

    def _heal(self) -> None:
        """Cleans up after a dyno that was killed."""
        if self._state.process is not None and self.running():
            if self._state.keep or process.alive(self._state.owner):
                return
            # Its dyno is dead, so it has been told to end, and is about to.
            if not process.wait_gone([self._state.process], self._clock, _DYING_TIMEOUT_S):
                process.kill_tree(self._state.process, self._clock)
        if self._state.process is not None:
            self._remember(process=None, keep=False)
        programs = Path(self.installation.bin).resolve()
        process.kill_all(process.living_in(self.data, programs), self._clock)
        self._remember(groups=tuple(limits.remove_groups(self._state.groups)))

    def _throttle(self, *, on: bool) -> limits.Limits:
        device, options = self.device(), self.record.options
        if not self.volume or not device or not device.startswith("loop"):
            return limits.Limits()
        if on:
            return limits.limit_io(device, options.iops_read, options.iops_write, self._key)
        return limits.limit_io(device, None, None, self._key)

    @property
    def _key(self) -> str:
        return f"dyno-{self.name}-{hashlib.sha256(str(self.folder).encode()).hexdigest()[:8]}"

    def device(self) -> str | None:
        """The block device under the data, e.g. `loop0`, for disk statistics."""
        if self._state.device and self.volume:
            return Path(self._state.device).name
        return None if self.volume else block_device(self.folder)

    # Its process.

    def running(self) -> bool:
        return process.alive(self._state.process)

    def server_pids(self) -> list[int]:
        """The server and all its children; empty when it does not run."""
        if self._state.process is None or not self.running():
            return []
        return [self._state.process.pid, *process.family(self._state.process.pid)]

    def start(
        self,
        assignment: Assignment | None = None,
        *,
        timeout_s: float = START_TIMEOUT_S,
        keep: bool | None = None,
    ) -> float:
        """Starts the server and waits until it answers; returns the seconds that took.

        With an assignment the whole configuration is written anew from it; else the last one that worked is kept.
        `keep`: the server outlives dyno. Raises `SandboxError` with the end of the server's log when it does not come
        up; the configuration that worked last is then kept for the next start.
        """
        with self._locked():
            self._heal()
            if self.running():
                raise SandboxError(
                    f"The sandbox {self.name!r} runs already.", todo=f"dyno sandbox stop {self.name}, or restart it"
                )
            self.attach()
            chosen = self._state.assignment if assignment is None else dict(assignment)
            join, port = self._prepare(), self._port()
            whole = {**chosen, **self.record.made_with}
            self._recipe.configure(self.data, port=port, socket_dir=Path(self.record.socket_dir), assignment=whole)
            log_start = self._turn_log()
            started = self._clock.monotonic()
            self._launch(port, join, keep=self._state.keep if keep is None else keep)
            self._wait(started + timeout_s, timeout_s, log_start)
            seconds = self._clock.monotonic() - started
            self._remember(assignment=chosen)
            return seconds

    def _prepare(self) -> list[str]:
        """Socket folder and limits. Returns the group files that the server has to join."""
        socket_dir = Path(self.record.socket_dir)
        socket_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.record.identity:
            os.chown(socket_dir, self.record.identity.uid, self.record.identity.gid)
        wanted, options = [], self.record.options
        if options.iops_read or options.iops_write:
            wanted.append(self._throttle(on=True))
        elif self.volume:
            # A limit that a killed dyno left on this device is not ours.
            self._throttle(on=False)
        if options.memory_bytes:
            wanted.append(limits.limit_memory(options.memory_bytes, self._key))
        if notes := [note for one in wanted for note in one.notes]:
            raise SandboxError(
                f"The limits of the sandbox {self.name!r} cannot be set any more.",
                found="; ".join(notes),
                todo="create another sandbox without them",
            )
        self._remember(groups=tuple(group for one in wanted for group in one.made))
        return [file for one in wanted for file in one.join]

    def _port(self) -> int:
        wanted = self.record.options.port
        if wanted is not None and not ports.is_free(wanted):
            raise SandboxError(
                f"Port {wanted} of the sandbox {self.name!r} is taken.",
                found=f"something listens on {ports.LOOPBACK}:{wanted}",
                todo="stop it, or create the sandbox without port=",
            )
        if wanted is not None:
            return wanted
        return self._state.port if self._state.port and ports.is_free(self._state.port) else ports.free_port()

    def _launch(self, port: int, join: list[str], *, keep: bool) -> None:
        if not Path(self.installation.bin).is_dir():
            raise SandboxError(
                f"The binaries of the sandbox {self.name!r} are gone.",
                found=self.installation.bin,
                todo=f"install version {self.installation.version_text} there again, or create another sandbox",
            )
        pid = process.launch(
            process.Launch(
                argv=self._recipe.command(self.installation, self.data),
                folder=self.data,
                log=self.log,
                identity=self.record.identity,
                groups_join=[Path(file) for file in join],
                die_with_us=None if keep else self._recipe.stop_signal("immediate"),
            )
        )
        self._remember(process=process.identify(pid), owner=process.identify(os.getpid()), port=port, keep=keep)

    def _wait(self, deadline: float, timeout_s: float, log_start: int) -> None:
        target, secret = self.target, self.secret
        step_s = 0.005
        while not self._recipe.ready(target, secret):
            late = self._clock.monotonic() > deadline
            if late or not self.running():
                if self._state.process and late:
                    process.kill_tree(self._state.process, self._clock)
                self._remember(process=None)
                raise SandboxError(
                    f"The server of the sandbox {self.name!r} "
                    + (f"did not answer within {timeout_s:g} s." if late else "ended while it started."),
                    found=self._log_since(log_start),
                    todo=f"correct the settings; the whole log is {self.log}",
                )
            self._clock.sleep(step_s)
            step_s = min(step_s * 1.1, 0.1)

    def stop(self, mode: str = "fast", *, timeout_s: float = STOP_TIMEOUT_S) -> float:
        """Stops the server (`smart`, `fast` or `immediate`); returns the seconds that took, 0 when it did not run.
        Raises `SandboxError` when it had to be killed."""
        with self._locked():
            one = self._state.process
            if one is None or not self.running():
                self._heal()
                return 0.0
            started = self._clock.monotonic()
            tree = [identity for pid in [one.pid, *process.descendants(one.pid)] if (identity := process.identify(pid))]
            process.send(one, self._recipe.stop_signal(mode))
            ended = process.wait_gone(tree, self._clock, timeout_s)
            if not ended:
                process.kill_tree(one, self._clock)
            self._remember(process=None)
            if not ended:
                raise SandboxError(
                    f"The server of the sandbox {self.name!r} did not stop within {timeout_s:g} s and was killed.",
                    found=self.log_tail(5),
                    todo="start it again; it recovers",
                )
            return self._clock.monotonic() - started

    def restart(self, assignment: Assignment | None = None, *, timeout_s: float = START_TIMEOUT_S) -> float:
        """Stops and starts; returns the seconds until it answers again."""
        with self._locked():
            return self.stop() + self.start(assignment, timeout_s=timeout_s)

    def crash(self) -> None:
        """Kills the server and all its children at once, without a chance to write anything."""
        with self._locked():
            if self._state.process and not process.kill_tree(self._state.process, self._clock):
                raise SandboxError(f"Processes of the sandbox {self.name!r} survive being killed.")
            self._remember(process=None)

    def recover(self, *, timeout_s: float = STOP_TIMEOUT_S) -> float:
        """Starts it after a crash; returns the seconds until it answers."""
        return self.start(timeout_s=timeout_s)

    # Its dataset.

    def has_pristine(self) -> bool:
        with self._locked():
            self.attach()
            return self.pristine.exists()

    def save_pristine(self) -> ResetCost:
        """Keeps a copy of the data to go back to. The server must be stopped."""
        with self._locked(), self._unlimited():
            self._require_stopped("save its data")
            self.attach()
            old = self.pristine.with_name("pristine.old")
            # The copy that is there stays until the new one is whole.
            if self.pristine.exists():
                self.pristine.rename(old)
            try:
                cost = copying.copy_tree(self.data, self.pristine, self._clock)
            except SandboxError:
                if old.exists():
                    old.rename(self.pristine)
                raise
            copying.remove_tree(old)
            return cost

    def reset(self) -> ResetCost:
        """Puts the data back to the pristine copy. The server must be stopped. Cut off anywhere, it is ended by the
        next start."""
        with self._locked(), self._unlimited():
            self._require_stopped("reset its data")
            self.attach()
            if not self.pristine.exists():
                raise SandboxError(f"The sandbox {self.name!r} has no pristine copy.", todo="save one first")
            started, trash = self._clock.monotonic(), self.data.with_name("data.trash")
            if self.data.exists():
                self.data.rename(trash)
            copying.remove_tree(trash)
            cost = copying.copy_tree(self.pristine, self.data, self._clock)
            if cost.method == "copy":
                # A reflinked copy starts uncached, and pages that we read are not charged to the server's memory.
                copying.forget_pages(self.data)
                copying.forget_pages(self.pristine)
            return ResetCost(seconds=self._clock.monotonic() - started, method=cost.method, bytes=cost.bytes)

    @contextlib.contextmanager
    def _unlimited(self) -> Iterator[None]:
        """Our own copying is not what the limited disk is there to slow down; the next start sets the limit again."""
        self.attach()
        if self.volume and not self.running():
            self._throttle(on=False)
        yield

    def _require_stopped(self, to: str) -> None:
        if self.running():
            raise SandboxError(f"The sandbox {self.name!r} runs; it cannot {to}.", todo="stop it first")

    def drop_caches(self) -> None:
        """Has the kernel write and forget the pages of the data, and of nothing else on the machine."""
        self.attach()
        copying.flush(self.data)
        copying.forget_pages(self.data)

    # What is seen of it.

    def log_tail(self, lines: int = 40) -> str:
        return "\n".join(self._log_since(0).splitlines()[-lines:])

    def _log_since(self, offset: int) -> str:
        text = ""
        for path in [self.log, *self._recipe.log_files(self.data)]:
            with contextlib.suppress(OSError), path.open("rb") as stream:
                size = stream.seek(0, os.SEEK_END)
                stream.seek(max(offset if path == self.log else 0, size - _TAIL_BYTES))
                text += stream.read().decode("utf-8", "replace")
        return "\n".join(text.strip().splitlines()[-40:])

    def _turn_log(self) -> int:
        """Starts a new log when the old one is long. Returns where the next words will stand."""
        self.log.parent.mkdir(exist_ok=True)
        size = self.log.stat().st_size if self.log.exists() else 0
        if size > _LOG_BYTES_MAX:
            self.log.replace(self.log.with_suffix(".log.1"))
            return 0
        return size

    def machine(self) -> Machine:
        """What this server may use: the smallest of the limits on memory, the kind of its disk, the room on it."""
        options = self.record.options
        memory = limits.machine_memory_bytes()
        with self._locked():
            self.attach()
        device = self.device()
        slower = [limit for limit in (options.iops_read, options.iops_write) if limit]
        disk = DiskClass.HDD if device and rotates(device) else DiskClass.SSD
        return Machine(
            memory_bytes=min(memory, options.memory_bytes or memory),
            cores=len(os.sched_getaffinity(0)),
            disk=DiskClass.CLOUD if slower else disk,
            # The image is sparse: the host's disk may be full before the volume is.
            disk_bytes_free=min(shutil.disk_usage(path).free for path in (self.folder, self.data.parent)),
            iops=float(min(slower)) if slower else None,
            dataset_bytes=copying.tree_bytes(self.data),
        )

    def remove(self) -> None:
        """Stops the server and removes all that the sandbox has, also what a killed dyno left of it."""
        with self._locked():
            if self.running():
                with contextlib.suppress(SandboxError):
                    self.stop("immediate", timeout_s=10.0)
            self._heal()
            self._detach()
            if self._state.groups:
                raise SandboxError("Control groups could not be removed.", found=", ".join(self._state.groups))
            copying.remove_tree(Path(self.record.socket_dir))
            copying.remove_tree(self.folder)
        forget_shared(self.folder.parent)


def wipe(folder: Path, clock: Clock) -> None:
    """Removes what a creation that was cut off left: mounts and loop devices first. Raises `SandboxError`."""
    volume = Volume(image=folder / "disk.img", point=folder / "volume", disk=Disk.PLAIN)
    try:
        volume.detach(clock)
    except HostError as error:
        raise SandboxError(f"{folder} could not be cleaned up.", found=str(error)) from None
    copying.remove_tree(folder)
