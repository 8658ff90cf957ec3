"""Where a view's samples come from: a server that is asked now, or a run folder, finished or still growing."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any, Protocol

import msgspec

from dbdyno.hosts.registry import Watch
from dbdyno.model.clock import Clock
from dbdyno.model.engine import Engine
from dbdyno.model.probe import Probe, Sample
from dbdyno.model.record import from_json
from dbdyno.model.run import Outcome
from dbdyno.model.target import Secret, Target
from dbdyno.run.record import EVENTS, OUTCOME, PROBES, SAMPLES, open_run, parse_event
from dbdyno.samples.machine import Machine
from dbdyno.samples.sampler import Sampler, ServerLine
from dbdyno.samples.series import SampleStore

KEEP_S = 1800.0
"""How far back a live view remembers."""
SAMPLES_MAX = 200_000
_READ_BYTES_MAX = 8 * 1024**2
"""Most that is read of a growing file at once, so that a long record does not freeze the screen."""


class Source(Protocol):
    title: str

    def refresh(self) -> None:
        """Takes in what is new; quick."""
        ...

    def now_s(self) -> float:
        """Latest moment that there is something of, seconds since the start."""
        ...

    def store(self) -> SampleStore: ...
    def intervals(self) -> list[dict[str, Any]]:
        """The driver's interval events; none where there is no load of ours."""
        ...

    def doubts(self) -> list[str]: ...
    def close(self) -> None: ...


class LiveSource:
    """Asks a server and its machine each second and keeps the last half hour."""

    def __init__(
        self,
        target: Target,
        secret: Secret,
        engine: Engine,
        *,
        clock: Clock,
        watch: Callable[[], Watch],
        every_s: float = 1.0,
        root: Path = Path("/"),
        machine: Machine = True,
    ) -> None:
        self.title = target.label
        self._clock = clock
        self._lock = threading.Lock()
        self._samples: deque[Sample] = deque(maxlen=SAMPLES_MAX)
        session = engine.connect(target, secret)
        line = ServerLine(lambda: engine.connect(target, secret), clock, session)
        self._sampler = Sampler(
            clock=clock,
            emit=self._take,
            watch=watch,
            root=root,
            line=line,
            probes=engine.probes(session.version),
            every_s=every_s,
            machine=machine,
        )
        self._probes = self._sampler.probes()
        self._started_s = clock.monotonic()
        self._sampler.start(self._started_s)

    def _take(self, sample: Sample) -> None:
        with self._lock:
            self._samples.append(sample)
            while self._samples and self._samples[0].t_s < sample.t_s - KEEP_S:
                self._samples.popleft()

    def refresh(self) -> None:
        """Samples come by themselves."""

    def now_s(self) -> float:
        return self._clock.monotonic() - self._started_s

    def store(self) -> SampleStore:
        with self._lock:
            return SampleStore(self._probes, list(self._samples))

    def intervals(self) -> list[dict[str, Any]]:
        return []

    def doubts(self) -> list[str]:
        return unknown_words(self.store())

    def close(self) -> None:
        self._sampler.stop(timeout_s=2.0)


class RunSource:
    """Reads a run folder; while the run goes on, what it writes is taken in at each refresh."""

    def __init__(self, folder: Path) -> None:
        record = open_run(folder)
        self.title = f"{record.plan.target.label}, {folder.name}"
        self._folder = folder
        self._probes: list[Probe] = []
        self._samples: list[Sample] = []
        self._intervals: list[dict[str, Any]] = []
        self._doubts: list[str] = []
        self._latest_s = 0.0
        self._tails = {SAMPLES: _Tail(folder / SAMPLES), EVENTS: _Tail(folder / EVENTS)}
        self.finished = False
        self.refresh()

    def refresh(self) -> None:
        if not self._probes and (self._folder / PROBES).is_file():
            try:
                self._probes = msgspec.json.decode((self._folder / PROBES).read_bytes(), type=list[Probe])
            except msgspec.MsgspecError:
                self._probes = []
        for line in self._tails[SAMPLES].lines():
            try:
                sample = from_json(line, Sample)
            except msgspec.MsgspecError:
                continue
            self._samples.append(sample)
            self._latest_s = max(self._latest_s, sample.t_s)
        for line in self._tails[EVENTS].lines():
            try:
                event = parse_event(line)
            except (ValueError, json.JSONDecodeError):
                continue
            if event["event"] == "interval":
                self._intervals.append(event)
                self._latest_s = max(self._latest_s, float(event.get("t_s", 0.0)))
        if not self.finished and (self._folder / OUTCOME).is_file():
            self.finished = True
            try:
                outcome = from_json((self._folder / OUTCOME).read_bytes(), Outcome)
                self._doubts = [note.says for note in outcome.doubts]
            except msgspec.MsgspecError:
                self._doubts = ["the outcome of this run cannot be read"]

    def now_s(self) -> float:
        return self._latest_s

    def store(self) -> SampleStore:
        return SampleStore(self._probes, self._samples)

    def intervals(self) -> list[dict[str, Any]]:
        return self._intervals

    def doubts(self) -> list[str]:
        return [*self._doubts, *unknown_words(self.store())]

    def close(self) -> None:
        for tail in self._tails.values():
            tail.close()


class _Tail:
    """Whole lines of a file that grows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        self._rest = b""

    def lines(self) -> Iterable[bytes]:
        if self._file is None:
            try:
                self._file = self._path.open("rb")
            except FileNotFoundError:
                return []
        found: list[bytes] = []
        while text := self._file.read(_READ_BYTES_MAX):
            parts = (self._rest + text).split(b"\n")
            self._rest = parts.pop()
            found += [part for part in parts if part.strip()]
        return found

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def unknown_words(store: SampleStore) -> list[str]:
    """What could not be asked, with the reason."""
    return [f"{probe}: {reason}" for probe, reason in sorted(store.unknown().items())]
