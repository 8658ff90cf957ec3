"""Asks probes on a timer while a run goes on, in step with the driver's intervals.

Two lanes, each a thread: one asks the server over one connection, one reads the machine's files, so that a server that
hangs does not stop the view of the machine. Nothing here can hold up or end the run: what goes wrong becomes a sample
with its reason. Each sample carries its cost, and each lane's processor time is counted (`cost`), because watching is
part of what is measured.
"""

from __future__ import annotations

import contextlib
import functools
import resource
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from dbdyno.engines.jobs import known_jobs
from dbdyno.hosts.registry import HostProbe, Watch, host_probes
from dbdyno.model.clock import Clock
from dbdyno.model.engine import Session
from dbdyno.model.errors import DynoError
from dbdyno.model.fact import Scalar
from dbdyno.model.probe import Probe, Sample
from dbdyno.samples.faraway import LINK, Faraway

RETRY_S = 60.0
"""How long a probe that failed alone (a missing privilege) is left in peace."""
RECONNECT_S = (1.0, 2.0, 5.0, 10.0)
"""Waits between attempts to reach a lost server; the last one repeats."""
_TOLERANCE = 0.25
"""A probe is due this part of its period early, so that ticks need not hit the microsecond."""
_REST_S = 0.2
"""A probe asked this short ago is not asked again when a phase begins or ends."""

_INTERRUPTED_S = 2.0
"""A question to another machine whose connection was cut ends within this."""

Rows = tuple[dict[str, Scalar], ...]


@dataclass
class _Question:
    probe: Probe
    ask: Callable[[], Rows]
    asked_s: float | None = None
    reason: str = ""
    rest_until_s: float = 0.0


@dataclass
class _Lane:
    """One thread's questions and what they cost."""

    name: str
    questions: list[_Question]
    wake: threading.Event = field(default_factory=threading.Event)
    asked: int = 0
    failed: int = 0
    cost_ms: float = 0.0
    cpu_s: float = 0.0
    skipped: int = 0
    """Ticks that were left out because the questions before them took too long."""


def _read(one: HostProbe, root: Path, watch: Callable[[], Watch]) -> Rows:
    return tuple(one.read(root, watch()))


def _read_there(one: HostProbe, machine: Faraway, watch: Callable[[], Watch]) -> Rows:
    there = machine.watch(watch())
    return tuple(machine.read(one.probe.name, lambda root: one.read(root, there)))


class ServerLine:
    """The one connection to the server: asks, and finds the server again when it was lost."""

    def __init__(self, connect: Callable[[], Session], clock: Clock, session: Session | None = None) -> None:
        self._connect = connect
        self._clock = clock
        self._session = session
        self._attempts = 0
        self._next_s = 0.0
        self.reconnects = 0

    def ask(self, probe: Probe) -> Rows:
        """Raises `DynoError` with the server's words, or that there is no connection."""
        if self._session is None:
            raise DynoError("The server cannot be reached.")
        return self._session.ask(probe)

    def ready(self) -> str:
        """Tries to connect when there is no connection and it is time to. Returns why there is none, else nothing."""
        if self._session is not None:
            return ""
        now = self._clock.monotonic()
        if now < self._next_s:
            return "no connection to the server"
        try:
            self._session = self._connect()
        except DynoError as error:
            self._next_s = now + RECONNECT_S[min(self._attempts, len(RECONNECT_S) - 1)]
            self._attempts += 1
            return error.found or error.what
        self._attempts = 0
        self.reconnects += 1
        return ""

    def still_answers(self, probe: Probe) -> bool:
        """Whether a question that was just answered is answered again."""
        try:
            self.ask(probe)
        except DynoError:
            return False
        return True

    def drop(self) -> None:
        """Gives the connection up; the next `ready` makes a new one."""
        session, self._session = self._session, None
        if session is not None:
            try:
                session.close()
            except DynoError:
                return  # It was lost already, which is why it is dropped.

    close = drop


class Sampler:
    """Starts with `start`, stops with `stop`; in between `align` puts a sample at the edges of a phase."""

    def __init__(
        self,
        *,
        clock: Clock,
        emit: Callable[[Sample], None],
        watch: Callable[[], Watch],
        root: Path = Path("/"),
        line: ServerLine | None = None,
        probes: Sequence[Probe] = (),
        every_s: float = 1.0,
        machine: bool | Faraway = True,
    ) -> None:
        """`emit` is called from both lanes; `watch` is asked at every tick, for processes come and go. `line` and
        `probes` are the server's; None: it is not asked. `machine` is the one under the server: True for this
        one, False for one that cannot be seen; who gave another one closes it. `every_s` is the shortest period."""
        self._clock = clock
        self._emit = emit
        self._every_s = every_s
        self._line = line
        self._stopping = threading.Event()
        self._t0 = 0.0
        self._origin_s = 0.0
        self._failure = ""
        self._seconds = 0.0
        self._lanes: list[_Lane] = []
        self._machine = machine if isinstance(machine, Faraway) else None
        self._watch = watch
        self._watched = Watch()
        if self._machine is not None:
            far = self._machine
            reads = [
                _Question(one.probe, functools.partial(_read_there, one, far, self._seen)) for one in host_probes()
            ]
            self._lanes.append(_Lane("machine", [_Question(LINK, far.link), *reads]))
        elif machine:
            reads = [_Question(one.probe, functools.partial(_read, one, root, self._seen)) for one in host_probes()]
            self._lanes.append(_Lane("machine", reads))
        if line is not None:
            asked = [_Question(probe, functools.partial(line.ask, probe)) for probe in probes]
            self._lanes.append(_Lane("server", asked))
        self._threads: list[threading.Thread] = []

    def probes(self) -> list[Probe]:
        """Everything that is asked, for the record."""
        return [question.probe for lane in self._lanes for question in lane.questions]

    def start(self, started_monotonic_s: float) -> None:
        """Begins; times of samples count from `started_monotonic_s` on the monotonic clock."""
        self._t0 = started_monotonic_s
        for lane in self._lanes:
            thread = threading.Thread(target=self._run, args=(lane,), name=f"sampler-{lane.name}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def align(self, t_s: float) -> None:
        """A phase began or ended at `t_s`: ticks count from here on, and one is due now."""
        self._origin_s = t_s
        for lane in self._lanes:
            lane.wake.set()

    def stop(self, timeout_s: float = 5.0) -> None:
        """Asks a last time and ends. A lane that hangs (a server that does not answer) is left behind."""
        self._seconds = self._now_s() if self._threads else 0.0
        self._stopping.set()
        for lane in self._lanes:
            lane.wake.set()
        hung = []
        for thread in self._threads:
            thread.join(timeout_s)
            if thread.is_alive() and self._machine is not None and thread.name == "sampler-machine":
                self._machine.interrupt()
                thread.join(_INTERRUPTED_S)
            if thread.is_alive():
                hung.append(thread.name)
        if self._line is not None and "sampler-server" not in hung:
            self._line.close()
        if hung and not self._failure:
            self._failure = f"did not end within {timeout_s:g} s: {', '.join(hung)}"

    def cost(self) -> dict[str, Scalar]:
        """What watching cost, for the outcome."""
        figures: dict[str, Scalar] = {}
        for lane in self._lanes:
            figures[f"{lane.name}_questions"] = lane.asked
            figures[f"{lane.name}_failed"] = lane.failed
            figures[f"{lane.name}_ms"] = round(lane.cost_ms, 3)
            figures[f"{lane.name}_cpu_s"] = round(lane.cpu_s, 4)
            figures[f"{lane.name}_ticks_skipped"] = lane.skipped
        if self._line is not None:
            figures["server_reconnects"] = self._line.reconnects
        if self._machine is not None:
            link = self._machine.link()[0]
            figures |= {f"machine_{name}": link[name] for name in ("sent_bytes", "received_bytes", "reconnects")}
        figures["seconds"] = round(self._seconds, 3)
        if self._failure:
            figures["failure"] = self._failure
        return figures

    def _look_around(self) -> None:
        """Who belongs to the run at this moment. Processes of this machine are not another one's."""
        with contextlib.suppress(OSError, DynoError):
            self._watched = replace(self._watch() if self._machine is None else Watch(), jobs=known_jobs())

    def _seen(self) -> Watch:
        """What is watched at this tick: to find a server's processes costs more than most probes."""
        return self._watched

    def _now_s(self) -> float:
        return self._clock.monotonic() - self._t0

    def _run(self, lane: _Lane) -> None:
        try:
            aligned = True
            while True:
                self._tick(lane, aligned=aligned)
                if self._stopping.is_set():
                    return
                aligned = lane.wake.wait(self._until_next(lane))
                lane.wake.clear()
        except (OSError, DynoError) as error:
            # The record cannot be written (a full disk); the run itself will say so too.
            self._failure = f"{lane.name}: {' '.join(str(error).split())}"
        finally:
            used = resource.getrusage(resource.RUSAGE_THREAD)
            lane.cpu_s = used.ru_utime + used.ru_stime

    def _until_next(self, lane: _Lane) -> float:
        now = self._now_s()
        ticks_done = (now - self._origin_s) // self._every_s
        next_s = self._origin_s + (ticks_done + 1) * self._every_s
        last = max((question.asked_s or 0.0 for question in lane.questions), default=now)
        lane.skipped += max(0, int((now - last) // self._every_s))
        return max(0.0, next_s - now)

    def _tick(self, lane: _Lane, *, aligned: bool) -> None:
        lost = self._line.ready() if lane.name == "server" and self._line is not None else ""
        if lane.name == "machine" and self._machine is not None:
            lost = self._machine.ready()
        if lane.name == "machine":
            self._look_around()
        now = self._now_s()
        due = [question for question in lane.questions if self._due(question, now, aligned=aligned)]
        if lane.name == "machine" and self._machine is not None and not lost:
            lost = self._fetch(lane, self._machine, due)
        failed = [question for question in due if not self._ask(lane, question, lost)]
        if lane.name == "server" and self._line is not None and failed and not lost:
            answered = next((question for question in due if question not in failed), None)
            # The connection may have broken between two questions; then none of them is to blame.
            if answered is None or not self._line.still_answers(answered.probe):
                self._line.drop()
                return
            for question in failed:
                question.rest_until_s = now + RETRY_S

    def _fetch(self, lane: _Lane, machine: Faraway, due: Sequence[_Question]) -> str:
        """What is due, in one exchange, before it is read. Returns why not."""
        begun = self._clock.monotonic()
        lost = machine.look({question.probe.name: question.ask for question in due})
        lane.cost_ms += (self._clock.monotonic() - begun) * 1e3
        return lost

    def _due(self, question: _Question, now: float, *, aligned: bool) -> bool:
        if now < question.rest_until_s:
            return False
        if question.asked_s is None:
            return True
        period_s = max(question.probe.every_s, self._every_s)
        age_s = now - question.asked_s
        if aligned and period_s <= self._every_s:
            return age_s >= _REST_S
        return age_s >= period_s - _TOLERANCE * self._every_s

    def _ask(self, lane: _Lane, question: _Question, lost: str) -> bool:
        begun = self._clock.monotonic()
        question.asked_s = begun - self._t0
        rows: Rows = ()
        reason = lost
        if not lost:
            try:
                rows = question.ask()
            except DynoError as error:
                reason = error.found or error.what
            except Exception as error:
                # Whatever a reader trips over, its probe is unknown and the others go on.
                reason = f"{type(error).__name__}: {error}"
            cost_ms = (self._clock.monotonic() - begun) * 1e3
            lane.asked += 1
            lane.cost_ms += cost_ms
        else:
            cost_ms = 0.0
        lane.failed += bool(reason)
        # A reason is written when it appears, and not again each second.
        if not reason or not question.reason:
            self._emit(
                Sample(
                    t_s=round(question.asked_s, 6),
                    probe=question.probe.name,
                    cost_ms=round(cost_ms, 3),
                    rows=rows,
                    unknown=reason,
                )
            )
        question.reason = reason
        return not reason
