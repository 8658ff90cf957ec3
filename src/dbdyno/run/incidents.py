"""Watches a server without load and saves what led to an incident: a ring of the last minutes, kept when a condition
holds, with what came after it and with captures made at that very moment.

Limits: so many incidents, so many bytes on disk, a rest between two of them; reaching one is said. Each incident is a
run folder like any other, so that it can be explained, reported and replayed.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from dbdyno.engines.captures import captures
from dbdyno.model.clock import Clock
from dbdyno.model.engine import Engine
from dbdyno.model.errors import DynoError
from dbdyno.model.fact import Fact
from dbdyno.model.plan import Plan
from dbdyno.model.probe import Probe, Sample
from dbdyno.model.record import to_json
from dbdyno.model.run import RunStatus
from dbdyno.model.target import Secret
from dbdyno.run.execute import outcome_of
from dbdyno.run.record import RunWriter, open_run
from dbdyno.run.trigger import Condition
from dbdyno.samples.series import SampleStore

CAPTURE_BYTES_MAX = 16 * 1024**2
_LOOK_S = 1.0


@dataclass(frozen=True)
class Limits:
    """How much may be kept."""

    before_s: float = 300.0
    """Length of the ring."""
    after_s: float = 60.0
    rest_s: float = 300.0
    """Between the end of one incident and the next."""
    incidents_max: int = 10
    bytes_max: int = 512 * 1024**2


@dataclass
class Ring:
    """The last minutes of samples. Filled by the sampler's threads."""

    probes: Sequence[Probe]
    span_s: float
    _samples: deque[Sample] = field(default_factory=deque)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, sample: Sample) -> None:
        with self._lock:
            self._samples.append(sample)
            while self._samples and self._samples[0].t_s < sample.t_s - self.span_s:
                self._samples.popleft()

    def samples(self, since_s: float = float("-inf")) -> list[Sample]:
        with self._lock:
            return [sample for sample in self._samples if sample.t_s >= since_s]

    def store(self, since_s: float) -> SampleStore:
        return SampleStore(self.probes, self.samples(since_s))


@dataclass
class Watcher:
    """Looks at the ring once a second and saves incidents."""

    plan: Plan
    secret: Secret
    engine: Engine
    clock: Clock
    conditions: Sequence[Condition]
    ring: Ring
    limits: Limits
    folder_of: Callable[[int], Path]
    """Folder of the n-th incident."""
    facts: Sequence[Fact] = ()
    on_word: Callable[[str], None] = lambda _: None
    saved: list[Path] = field(default_factory=list)
    spent_bytes: int = 0

    def run(self, started_s: float, time_s: float, stop: threading.Event) -> None:
        """Until the time is over (0: for ever), `stop` is set, or a limit is reached."""
        rest_until_s = 0.0
        while not stop.is_set():
            now_s = self.clock.monotonic() - started_s
            if time_s and now_s >= time_s:
                return
            met = next((one for one in self.conditions if now_s >= rest_until_s and self._met(one, now_s)), None)
            if met is not None:
                self._save(met, started_s, now_s, stop)
                rest_until_s = self.clock.monotonic() - started_s + self.limits.rest_s
                if self._is_full():
                    return
            stop.wait(min(_LOOK_S, time_s - now_s) if time_s else _LOOK_S)

    def _met(self, condition: Condition, now_s: float) -> bool:
        return condition.met(self.ring.store(now_s - condition.hold_s - 10.0), now_s)

    def _is_full(self) -> bool:
        limits = self.limits
        if len(self.saved) >= limits.incidents_max:
            self.on_word(f"{len(self.saved)} incidents are saved, which is the most; watching ends")
            return True
        if self.spent_bytes >= limits.bytes_max:
            self.on_word(f"incidents take {self.spent_bytes >> 20} MiB, which is the most; watching ends")
            return True
        return False

    def _save(self, condition: Condition, started_s: float, now_s: float, stop: threading.Event) -> None:
        folder = self.folder_of(len(self.saved) + 1)
        self.on_word(f"{condition.text}: saving {folder}")
        begin_s = max(0.0, now_s - self.limits.before_s)
        begun_unix_s = self.clock.unix() - (now_s - begin_s)
        plan = msgspec.structs.replace(self.plan, title=f"incident: {condition.text}")
        writer = RunWriter(folder, plan, started_unix_s=begun_unix_s)
        writer.probes(self.ring.probes)
        writer.facts("before", self.facts)
        writer.own_event("recording", 0.0, monotonic_s=started_s + begin_s)
        writer.own_event("incident", now_s - begin_s, condition=condition.text)
        for line in self._captured(folder):
            writer.own_event("capture", now_s - begin_s, **line)
        stop.wait(self.limits.after_s)
        end_s = self.clock.monotonic() - started_s
        for sample in self.ring.samples(begin_s):
            writer.sample(msgspec.structs.replace(sample, t_s=round(sample.t_s - begin_s, 6)))
        writer.own_event("recorded", end_s - begin_s)
        writer.close()
        writer.finish(outcome_of(open_run(folder), status=RunStatus.DONE))
        self.saved.append(folder)
        self.spent_bytes += sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())

    def _captured(self, folder: Path) -> Iterable[dict[str, Any]]:
        """Asks each capture once, over a connection of its own, and writes the answers. What fails is said."""
        try:
            session = self.engine.connect(self.plan.target, self.secret)
        except DynoError as error:
            yield {"capture": "all", "unknown": error.found or error.what}
            return
        try:
            (folder / "captures").mkdir(exist_ok=True)
            for probe in captures(self.engine, session.version):
                try:
                    rows = session.ask(probe)
                except DynoError as error:
                    yield {"capture": probe.name, "unknown": error.found or error.what}
                    continue
                text = b"".join(to_json(row) + b"\n" for row in rows)
                (folder / "captures" / f"{probe.name}.jsonl").write_bytes(text[:CAPTURE_BYTES_MAX])
                yield {"capture": probe.name, "rows": len(rows), "cut": len(text) > CAPTURE_BYTES_MAX}
        finally:
            session.close()
