"""Starts the load driver, reads its events, ends it (docs/reference/driver-protocol.md).

The plan goes to its standard input, which is the only way that a password takes. Its words go to `driver.log`. It runs
in a session of its own, so that a terminal's Ctrl-C reaches it through us, as an orderly stop.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from dbdyno.engines.registry import engine_named
from dbdyno.model.errors import DriverError, HostError
from dbdyno.model.plan import Plan, WorkloadSpec
from dbdyno.model.record import to_dict, to_json
from dbdyno.model.target import Secret, Target
from dbdyno.run.programs import find_program
from dbdyno.run.record import parse_event

PROTOCOL = 1
BINARY = "dyno-driver"
STOP_S = 20.0
"""How long the driver may take to end after SIGINT before it is killed."""
_POLL_S = 0.1
_TAIL_LINES = 12
STATUS_CHECK_FAILED, STATUS_INTERRUPTED = 1, 130

_ADVICE = {
    "plan": "correct the option that the message names",
    "connect": "check that the server runs, and host and port",
    "auth": "check user and password",
    "schema": "load the dataset anew (--prepare), or name the database that holds it",
    "sql": "see the server's log",
    "disk_full": "free space under the server's data, or load a smaller --scale",
    "io": "see driver.log",
    "internal": "this is a mistake of ours: please report it with driver.log",
}

Progress = Callable[[dict[str, Any]], None]


def find_driver(environment: Mapping[str, str] | None = None) -> Path:
    """The driver's binary (see `find_program`): `$DYNO_DRIVER` names another. Raises `HostError`."""
    return find_program(BINARY, "DYNO_DRIVER", "The load driver", environment)


def list_workloads(environment: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """The driver's workloads with their options. Raises `HostError`, `DriverError`."""
    binary = find_driver(environment)
    try:
        done = subprocess.run([str(binary), "list"], capture_output=True, timeout=30, check=False)
        found = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        raise DriverError(f"{binary} does not list its workloads.", found=str(error), code="internal") from None
    workloads = found["workloads"] if isinstance(found, dict) else found
    return list(workloads)


def plan_text(plan: dict[str, Any], target: Target, secret: Secret) -> bytes:
    """A plan for the driver's standard input; the only place where the password is revealed."""
    where = {
        "dialect": engine_named(target.engine).dialect,
        "host": target.host,
        "port": target.port,
        "user": target.user,
        "password": secret.reveal(),
        "database": target.database,
        **({"tls": target.tls, "tls_ca": target.tls_ca} if target.tls else {}),
    }
    return to_json({"protocol": PROTOCOL, "target": where, **plan})


def run_plan(plan: Plan, secret: Secret, *, adopt: bool = False) -> bytes:
    """A `run` plan. The plan must name a workload."""
    assert plan.workload is not None, "a plan without a workload is for recording"
    content = {
        "verb": "run",
        "workload": to_dict(plan.workload),
        "threads": plan.threads,
        "workers": min(plan.workers, plan.threads),  # 0: as many as the driver thinks best
        "seed": plan.seed,
        "interval_s": plan.interval_s,
        "phases": [to_dict(phase) for phase in plan.phases],
        "retries_max": plan.retries_max,
        "reconnects_max": plan.reconnects_max,
        "adopt": adopt,
        **({"pipeline": True} if plan.pipeline else {}),
    }
    return plan_text(content, plan.target, secret)


class Driver:
    """One driver process."""

    def __init__(self, binary: Path, plan: bytes, log: Path) -> None:
        """Starts it. Raises `HostError` when it cannot be started."""
        self.log = log
        try:
            with log.open("ab") as words:
                self._process = subprocess.Popen(
                    [str(binary)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=words,
                    start_new_session=True,
                )
        except OSError as error:
            raise HostError(f"The load driver {binary} cannot be started.", found=str(error)) from None
        assert self._process.stdin is not None
        # A driver that dies at once leaves a broken pipe; its exit tells the reason.
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(plan)
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self.interrupted = False
        self._error: dict[str, Any] | None = None

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def status(self) -> int | None:
        return self._process.poll()

    def events(self, stop: threading.Event | None = None) -> Iterator[tuple[bytes, dict[str, Any]]]:
        """Events as they come, each as its line and parsed, until the driver closes its output.

        When `stop` is set, the driver is asked to end (SIGINT) and killed when it does not within `STOP_S`. Raises
        `DriverError` on a line that is not an event.
        """
        stdout = self._process.stdout
        assert stdout is not None
        rest = b""
        polls_left = int(STOP_S / _POLL_S)
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            while True:
                if stop is not None and stop.is_set():
                    polls_left = self._urge(polls_left)
                if not selector.select(_POLL_S):
                    continue
                chunk = os.read(stdout.fileno(), 1 << 20)
                if not chunk:
                    break
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    yield line, self._parse(line)
        if rest.strip():
            # Cut in the middle of a line: it died. The record keeps nothing of it, the exit says why.
            self._error = self._error or {}

    def _urge(self, polls_left: int) -> int:
        if not self.interrupted:
            self.interrupted = True
            self._signal(signal.SIGINT)
        if polls_left == 0:
            self._signal(signal.SIGKILL)
        return polls_left - 1

    def _parse(self, line: bytes) -> dict[str, Any]:
        try:
            event = parse_event(line)
        except ValueError:
            self.kill()
            raise DriverError(
                "The load driver wrote a line that is no event.", found=repr(line[:200]), code="internal"
            ) from None
        if event["event"] == "error":
            self._error = event
        if event["event"] == "hello" and event.get("protocol") != PROTOCOL:
            self.kill()
            raise DriverError(
                f"The load driver speaks protocol {event.get('protocol')}, this dyno {PROTOCOL}.",
                todo="use a driver and a dyno of the same version",
                code="plan",
            )
        return event

    def finish(self) -> int:
        """Waits for the end after the events. Returns the exit status 0, 1 or 130; raises `DriverError` for all else,
        with its error event or the end of its log."""
        try:
            status = self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise DriverError("The load driver closed its output and did not end.", code="internal") from None
        if status in (0, STATUS_CHECK_FAILED, STATUS_INTERRUPTED):
            return status
        if self._error:
            raise error_of(self._error)
        how = f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        if status < 0 and self.interrupted:
            return STATUS_INTERRUPTED
        raise DriverError(
            f"The load driver died: {how}.",
            found=self.log_tail() or "nothing in its log",
            todo="look for the kernel's out-of-memory killer (dmesg) or whoever sent the signal"
            if status == -signal.SIGKILL
            else _ADVICE["internal"],
            code="internal",
        )

    def kill(self) -> None:
        """Ends it now; harmless when it has ended."""
        self._signal(signal.SIGKILL)
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def log_tail(self) -> str:
        try:
            return "\n".join(self.log.read_text("utf-8", "replace").splitlines()[-_TAIL_LINES:])
        except OSError:
            return ""

    def _signal(self, number: int) -> None:
        if self._process.poll() is None:
            self._process.send_signal(number)


def error_of(event: dict[str, Any]) -> DriverError:
    """The error that an `error` event says: its class as code, the server's own code in `found`."""
    code = str(event.get("class", "internal"))
    server_code = str(event.get("code") or "")
    return DriverError(
        str(event.get("message") or "The load driver failed."),
        found=f"the server's code {server_code}" if server_code else "",
        todo=str(event.get("hint") or _ADVICE.get(code, "")),
        code=code,
    )


def load_dataset(
    target: Target,
    secret: Secret,
    workload: WorkloadSpec,
    *,
    threads: int,
    seed: int,
    on_progress: Progress | None = None,
    restart: bool = False,
    log: Path | None = None,
    stop: threading.Event | None = None,
) -> bool:
    """Loads the workload's dataset, or goes on with an interrupted load; `restart` begins anew. `on_progress` gets the
    driver's events. Returns whether it was done (False: interrupted by `stop`). Raises `DriverError`."""
    plan = {"verb": "load", "workload": to_dict(workload), "threads": threads, "seed": seed, "restart": restart}
    status, _ = _simple(plan, target, secret, on_progress, log=log, stop=stop)
    return status != STATUS_INTERRUPTED


def check_dataset(
    target: Target,
    secret: Secret,
    workload: WorkloadSpec,
    *,
    threads: int = 1,
    seed: int = 1,
    on_progress: Progress | None = None,
    log: Path | None = None,
    stop: threading.Event | None = None,
) -> list[dict[str, Any]]:
    """The driver's `check` events, one for each consistency condition. Raises `DriverError`."""
    plan = {"verb": "check", "workload": to_dict(workload), "threads": threads, "seed": seed}
    _, events = _simple(plan, target, secret, on_progress, log=log, stop=stop)
    return [event for event in events if event["event"] == "check"]


def cleanup_dataset(
    target: Target,
    secret: Secret,
    workload: WorkloadSpec,
    *,
    on_progress: Progress | None = None,
    log: Path | None = None,
) -> None:
    """Drops the workload's tables, if they are ours. Raises `DriverError`."""
    plan = {"verb": "cleanup", "workload": to_dict(workload)}
    _simple(plan, target, secret, on_progress, log=log, stop=None)


def _simple(
    plan: dict[str, Any],
    target: Target,
    secret: Secret,
    on_progress: Progress | None,
    *,
    log: Path | None,
    stop: threading.Event | None,
) -> tuple[int, list[dict[str, Any]]]:
    """A plan without phases; progress is handed on, all else is returned."""
    text = plan_text(plan, target, secret)
    with contextlib.ExitStack() as stack:
        if log is None:
            log = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dyno-"))) / "driver.log"
        driver = Driver(find_driver(), text, log)
        stack.callback(driver.kill)
        events = []
        for _, event in driver.events(stop):
            if on_progress is not None:
                on_progress(event)
            if event["event"] != "progress":
                events.append(event)
        return driver.finish(), events
