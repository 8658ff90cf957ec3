"""Starts `dyno-powerloss`, the disk that forgets, and talks with it (docs/reference/powerloss.md).

The program records (`serve`), chooses crash states (`plan`) and shows them (`present`). A running one answers on a
control socket: one JSON object in, one out.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from dbdyno.model.clock import Clock
from dbdyno.model.errors import HostError
from dbdyno.model.record import Record, from_json, to_json
from dbdyno.run.programs import find_program
from dbdyno.sandbox import process
from dbdyno.sandbox.process import ProcessId

BINARY = "dyno-powerloss"
KINDS = ("flush", "prefix", "subset", "reorder", "torn512", "torn4k")
"""Kinds of crash states, see `CrashState.kind`."""
_START_S = 20.0
_ANSWER_S = 60.0
_ANSWER_SLOW_S = {"base": 600.0}
"""The base of a folder is a copy of it."""
_PLAN_S = 300.0
_POLL_S = 0.002
_TAIL_LINES = 8


class CrashState(Record, frozen=True, kw_only=True):
    """What a power cut could have left on the disk: everything up to a flush, and a part of what came after it."""

    id: str
    kind: str
    """What is there of the events after the flush. `flush`: nothing; `prefix`: all up to one of them; `subset`: a
    random part; `reorder`: later ones without an earlier one; `torn512`, `torn4k`: one write cut inside, at multiples
    of 512 or 4096 bytes."""
    flush_seq: int
    """Number of the last completed flush. An acknowledgement stamped with this number or a smaller one was given
    before the power went, and all that it promised had to be on the disk."""
    next_flush_seq: int | None
    """Number of the flush that the power cut came before; None: none came."""
    seed: int
    """With the fields kind, flush_seq, next_flush_seq and event it makes the same bytes again."""
    event: int
    """Number of the event that the state turns on (last of a prefix, the missing one, the torn one); 0: none."""
    rank: int
    """How much is learned from this state, 0 to 100, judged from what was being written."""
    why: str
    """What was being written, in words."""
    picked_by: str
    """`rank` or `random`."""
    flush_time_monotonic_s: float
    """When the last flush completed; CLOCK_MONOTONIC, as in acknowledgements."""
    time_monotonic_s: float
    """When the power went: the latest moment at which the disk could look like this."""


def find_powerloss(environment: Mapping[str, str] | None = None) -> Path:
    """The program (see `find_program`): `$DYNO_POWERLOSS` names another. Raises `HostError`."""
    return find_program(BINARY, "DYNO_POWERLOSS", "The program that records the disk", environment)


def plan_states(
    store: Path,
    seed: int,
    count: int,
    kinds: Sequence[str] = KINDS,
    *,
    verb: str = "plan",
    timeout_s: float = _PLAN_S,
) -> list[CrashState]:
    """Chooses crash states of a recording, a part by rank and a part at random; the same seed chooses the same.

    `verb` is `plan` for a disk and `dir-plan` for a folder. Fewer than `count` come when the recording has not as many.
    Raises `HostError`.
    """
    assert set(kinds) <= set(KINDS), f"no such kind of crash state: {set(kinds) - set(KINDS)}"
    argv = [str(find_powerloss()), verb, "--store", str(store), "--seed", str(seed), "--states", str(count)]
    try:
        done = subprocess.run(
            [*argv, "--kinds", ",".join(kinds)], capture_output=True, text=True, timeout=timeout_s, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HostError("The crash states cannot be planned.", found=str(error)) from None
    if done.returncode != 0:
        raise HostError("The crash states cannot be planned.", found=done.stderr.strip())
    try:
        return [from_json(line, CrashState) for line in done.stdout.splitlines()]
    except msgspec.DecodeError as error:
        raise HostError(
            f"{BINARY} wrote a state that this dyno does not know.",
            found=str(error),
            todo="use programs of one version",
        ) from None


class Powerloss:
    """One running `dyno-powerloss`, in a session of its own, so that a terminal's Ctrl-C reaches it through us."""

    def __init__(self, arguments: Sequence[str], control: Path, log: Path, clock: Clock) -> None:
        """Starts it and waits until it answers. Raises `HostError`."""
        self._control, self._log, self._clock = control, log, clock
        control.unlink(missing_ok=True)
        binary = find_powerloss()
        try:
            with log.open("ab") as words:
                self._process = subprocess.Popen(
                    [str(binary), *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=words,
                    stderr=words,
                    start_new_session=True,
                )
        except OSError as error:
            raise HostError(f"{binary} cannot be started.", found=str(error)) from None
        self._wait_ready()

    @property
    def identity(self) -> ProcessId | None:
        """None when it has ended."""
        return process.identify(self._process.pid) if self._process.poll() is None else None

    def ask(self, do: str, **more: Any) -> dict[str, Any]:
        """Its answer to one command. Raises `HostError` when it refuses or is gone."""
        try:
            answer = ask(self._control, {"do": do, **more})
        except OSError as error:
            raise HostError(
                "The recorded disk does not answer.",
                found="; ".join(part for part in (str(error), self.log_tail()) if part),
                todo="see powerloss.log beside it",
            ) from None
        if not answer.get("ok"):
            raise HostError(f"The recorded disk refuses `{do}`.", found=str(answer.get("error", answer)))
        return answer

    def stop(self) -> None:
        """Lets it unmount and end; kills it when it does not. Harmless when it has ended."""
        if self._process.poll() is None:
            with contextlib.suppress(HostError):
                self.ask("stop")
        deadline = self._clock.monotonic() + _START_S
        while self._process.poll() is None and self._clock.monotonic() < deadline:
            self._clock.sleep(_POLL_S)
        self.kill()

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def log_tail(self) -> str:
        try:
            return "; ".join(self._log.read_text("utf-8", "replace").splitlines()[-_TAIL_LINES:])
        except OSError:
            return ""

    def _wait_ready(self) -> None:
        deadline = self._clock.monotonic() + _START_S
        while self._process.poll() is None and self._clock.monotonic() < deadline:
            with contextlib.suppress(OSError, ValueError):
                if ask(self._control, {"do": "status"}).get("ok"):
                    return
            self._clock.sleep(_POLL_S)
        self.kill()
        raise HostError("The recorded disk could not be started.", found=self.log_tail() or "nothing in its log")


def ask(control: Path, question: dict[str, Any]) -> dict[str, Any]:
    """One question and its answer. Raises `OSError`."""
    # The path of a socket may have 107 bytes only; by way of the folder's descriptor any folder will do.
    folder = os.open(control.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_ANSWER_SLOW_S.get(question["do"], _ANSWER_S))
            connection.connect(f"/proc/self/fd/{folder}/{control.name}")
            connection.sendall(json.dumps(question).encode() + b"\n")
            with connection.makefile("rb") as answers:
                line = answers.readline()
    finally:
        os.close(folder)
    if not line:
        raise ConnectionResetError("it closed the connection without an answer")
    answer = json.loads(line)
    assert isinstance(answer, dict)
    return answer


def state_json(state: CrashState) -> dict[str, Any]:
    """The state as it stands in a control message."""
    plain: dict[str, Any] = json.loads(to_json(state))
    return plain
