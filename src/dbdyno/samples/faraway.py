"""The machine lane's way to another machine: connects, finds it again when it was lost, and counts what that costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dbdyno.hosts.faraway import Files, parse_auxv, parse_clock
from dbdyno.hosts.registry import Watch
from dbdyno.hosts.shell import Shell
from dbdyno.hosts.ssh import SshHost
from dbdyno.model.clock import Clock
from dbdyno.model.errors import DynoError
from dbdyno.model.fact import Fact, Scalar
from dbdyno.model.probe import Column, ColumnKind, Probe

RETRY_S = (1.0, 2.0, 5.0, 10.0, 30.0)
"""Waits between attempts to reach a lost machine; the last one repeats."""
CONNECT_S_MAX = 10.0

LINK = Probe(
    name="link",
    title="Connection to the machine that is sampled",
    cost="the bytes that it counts itself",
    columns=(
        Column(name="sent_bytes", kind=ColumnKind.COUNTER, unit="B", help="sent to the machine, before encryption"),
        Column(name="received_bytes", kind=ColumnKind.COUNTER, unit="B", help="received from it, before encryption"),
        Column(name="exchanges", kind=ColumnKind.COUNTER, help="questions with an answer, each for many files"),
        Column(name="look_ms", kind=ColumnKind.GAUGE, unit="ms", help="time to fetch what was due at this moment"),
        Column(name="reconnects", kind=ColumnKind.COUNTER, help="connections made again"),
        Column(name="clock_offset_s", kind=ColumnKind.GAUGE, unit="s", help="its wall clock ahead of ours"),
    ),
)

Connect = Callable[[], Shell]


class Faraway:
    """Another machine. `look` before its probes are read; everything else is as for this one."""

    def __init__(self, label: str, connect: Connect, clock: Clock) -> None:
        """Connects. Raises `HostError`."""
        self.label = label
        self._connect = connect
        self._clock = clock
        self._attempts = 0
        self._next_s = 0.0
        self._reconnects = 0
        self._before = (0, 0, 0)
        """Bytes sent and received and exchanges over connections that are lost."""
        self._look_ms = 0.0
        self._shell, self._files = self._open()

    @property
    def root(self) -> Path:
        """Of its files; of another connection after each loss."""
        return self._files.root

    def ready(self) -> str:
        """Tries to connect when there is no connection and it is time to. Returns why there is none, else nothing."""
        if self._shell.lost is None:
            return ""
        now = self._clock.monotonic()
        if now < self._next_s:
            return f"no connection to {self.label}"
        try:
            opened = self._open()
        except DynoError as error:
            self._next_s = self._clock.monotonic() + RETRY_S[min(self._attempts, len(RETRY_S) - 1)]
            self._attempts += 1
            return " ".join([error.what, *([f"({error.found})"] if error.found else [])])
        self._before = self._spent()
        self._shell.close()
        self._shell, self._files = opened
        self._attempts = 0
        self._reconnects += 1
        return ""

    def look(self, readers: Mapping[str, Callable[[], Any]]) -> str:
        """Fetches what the readers will read. Returns why it could not, else nothing."""
        begun = self._clock.monotonic()
        try:
            self._files.look(readers)
        except DynoError as error:
            return " ".join(error.what.split())
        finally:
            self._look_ms = (self._clock.monotonic() - begun) * 1e3
        return ""

    def read(self, name: str, read: Callable[[Path], Any]) -> Any:
        """What the reader of that name reads there. Raises what it raises."""
        with self._files.reading(name) as root:
            return read(root)

    def watch(self, watch: Watch) -> Watch:
        """The same for that machine: processes of this one have no business there, but our shell has."""
        return replace(watch, processes={"dyno": (self._shell.pid,)}, page_bytes=self._page_bytes,
                       ticks_per_s=self._ticks_per_s)  # fmt: skip

    def link(self) -> tuple[dict[str, Scalar], ...]:
        """What the connection cost up to now."""
        sent, received, exchanges = self._spent()
        row: dict[str, Scalar] = {
            "sent_bytes": sent, "received_bytes": received, "exchanges": exchanges,
            "look_ms": round(self._look_ms, 3), "reconnects": self._reconnects,
            "clock_offset_s": self.clock_offset_s,
        }  # fmt: skip
        return (row,)

    def facts(self) -> list[Fact]:
        """Which machine it is and how far its clock is off."""
        clock = Fact(name="host.clock_offset_s", unit="s", source="/proc/stat and /proc/uptime there",
                     value=self.clock_offset_s,
                     unknown="the machine does not say its time" if self.clock_offset_s is None else "")  # fmt: skip
        return [Fact(name="host.sampled", source="--host", value=self.label), clock]

    def interrupt(self) -> None:
        """Makes a question under way in another thread fail at once."""
        self._shell.interrupt()

    def close(self) -> None:
        self._shell.close()

    def _spent(self) -> tuple[int, int, int]:
        sent, received, exchanges = self._before
        return (sent + self._shell.sent_bytes, received + self._shell.received_bytes, exchanges + self._files.exchanges)

    def _open(self) -> tuple[Shell, Files]:
        shell = self._connect()
        files = Files(shell)
        try:
            self._measure(files)
        except DynoError:
            shell.close()
            raise
        return shell, files

    def _measure(self, files: Files) -> None:
        """The machine's clock and units. What it does not say is taken to be as here."""
        here = Watch()
        self._page_bytes, self._ticks_per_s = here.page_bytes, here.ticks_per_s
        self.clock_offset_s: float | None = None
        proc = files.root / "proc"
        before_s = self._clock.unix()
        try:
            # The uptime first: the exchange is over soon after it was read.
            uptime = (proc / "uptime").read_text()
            after_s = self._clock.unix()
            there_s = parse_clock((proc / "stat").read_text(), uptime)
            self.clock_offset_s = round(there_s - (before_s + after_s) / 2, 3)
        except (OSError, ValueError):
            pass
        try:
            units = parse_auxv((proc / "self/auxv").read_bytes())
            self._page_bytes, self._ticks_per_s = units or (self._page_bytes, self._ticks_per_s)
        except OSError:
            pass


def reach(host: SshHost, clock: Clock, token: str) -> Faraway:
    """Connects over SSH. `token` is a random word of letters and digits. Raises `HostError`."""
    return Faraway(host.label, lambda: Shell(host, clock=clock, token=token, timeout_s=CONNECT_S_MAX), clock)
