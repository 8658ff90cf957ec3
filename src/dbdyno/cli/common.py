"""What the verbs share: the real clock, the home folder, targets, the console."""

from __future__ import annotations

import contextlib
import datetime
import os
import shlex
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dbdyno.model.home import Home, find_home
from dbdyno.model.machine import DiskClass, Machine
from dbdyno.sandbox.limits import machine_memory_bytes
from dbdyno.sandbox.targets import Resolved, permissions, resolve

if TYPE_CHECKING:
    from rich.console import Console

F = TypeVar("F", bound=Callable[..., Any])


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


def stamp() -> str:
    """The moment, by the machine's clock and zone, as names of what is kept begin."""
    return datetime.datetime.fromtimestamp(SystemClock().unix()).strftime("%Y%m%d-%H%M%S")


def this_machine() -> Machine:
    """For servers that are not sandboxes: they are taken to be here, on a disk without moving parts."""
    return Machine(memory_bytes=machine_memory_bytes(), cores=os.cpu_count() or 1, disk=DiskClass.SSD)


@contextlib.contextmanager
def orderly_end() -> Iterator[None]:
    """SIGTERM ends like Ctrl-C: servers are stopped, disks put away, folders removed."""

    def handle(_number: int, _frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def console(*, stderr: bool = False) -> Console:
    """Words for people; honours NO_COLOR and pipes. Loaded when something is said: most audits say nothing here."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=True)


def say_note(note: str) -> None:
    """What the machine could not give, said where it is not missed."""
    console(stderr=True).print(f"[bold yellow]NOTE[/]: {_escaped(note)}")


def _escaped(text: str) -> str:
    return text.replace("[", "\\[")


def record_lines(folder: Path, *verbs: str, kind: str = "run") -> str:
    """Where a record is, and what can be asked of it next: by its name where `dyno list` shows it."""
    name = folder.name if folder.parent in {home().runs, home().studies} else str(folder)
    return f"{kind}: {folder}\nnext: " + " · ".join(f"dyno {verb} {shlex.quote(name)}" for verb in verbs)


def split_allow(_context: click.Context, _parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """`--allow load,tune` and `--allow load --allow tune` mean the same."""
    words = tuple(word.strip() for part in value for word in part.split(",") if word.strip())
    permissions(words)
    return words


def allow_option(function: F) -> F:
    """The option `--allow`, for verbs that do more than read."""
    return click.option(
        "--allow",
        multiple=True,
        metavar="LIST",
        callback=split_allow,
        help="What may be done to a server that is not a sandbox: load, tune, crash (separated by commas).",
    )(function)


def find_target(text: str, allow: Iterable[str] = (), *, make: bool = True) -> Resolved:
    """The server that TARGET means. A sandbox that does not exist is made; use `.serving()` to have it run. Verbs that
    only read say `make=False`: nothing is learnt from a server that was not there before."""
    return resolve(
        text,
        home=home(),
        allow=allow,
        environment=os.environ,
        clock=SystemClock(),
        on_note=say_note,
        make=make,
    )
