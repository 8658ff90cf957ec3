"""One run: facts, load, samples, facts; all of it into a run folder.

The order of things makes the record readable whatever happens: the folder and its plan first, events and samples as
they come, the outcome last. A driver that fails, a server that dies, an interruption: each leaves a folder with an
outcome that says so. Only a kill of this process leaves one without.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno.hosts.registry import Watch
from dbdyno.hosts.where import LOCAL, is_near
from dbdyno.model.clock import Clock
from dbdyno.model.engine import Engine, Session
from dbdyno.model.errors import DynoError
from dbdyno.model.fact import Fact
from dbdyno.model.plan import Plan
from dbdyno.model.probe import Probe, Sample
from dbdyno.model.run import Outcome, RunStatus
from dbdyno.model.target import Secret
from dbdyno.run.doubts import Evidence, find_doubts
from dbdyno.run.driver import STATUS_INTERRUPTED, Driver, find_driver, run_plan
from dbdyno.run.outcome import phases_of, server_differences
from dbdyno.run.record import DRIVER_LOG, RunRecord, RunWriter, open_run
from dbdyno.samples.machine import Machine, machine_facts
from dbdyno.samples.sampler import Sampler, ServerLine

Pids = Callable[[], Sequence[int]] | Sequence[int] | None
OnEvent = Callable[[dict[str, Any]], None]
OnProbes = Callable[[Sequence[Probe]], Callable[[Sample], None]]
"""Gets the definitions of what is asked, and returns who else is to see each sample."""


@dataclass(frozen=True)
class Surroundings:
    """What a run needs of its surroundings besides the plan."""

    clock: Clock
    root: Path
    server_pids: Pids
    device: str | None
    data_folder: Path | None
    machine: Machine


def execute(
    plan: Plan,
    secret: Secret,
    engine: Engine,
    *,
    clock: Clock,
    folder: Path,
    server_pids: Pids = None,
    device: str | None = None,
    data_folder: Path | None = None,
    on_event: OnEvent | None = None,
    stop: threading.Event | None = None,
    root: Path = Path("/"),
    server_log: Callable[[], str] | None = None,
    adopt: bool = False,
    on_probes: OnProbes | None = None,
    machine: Machine | None = None,
) -> Outcome:
    """Runs the plan and writes the run folder.

    `server_pids` are the server's processes (asked again at each tick when it is callable), `device` and `data_folder`
    where its data is; all may be unknown. `on_event` gets each event of the driver. `stop` ends the run early, with an
    outcome of status `interrupted`. `adopt` runs on a dataset that is not marked as ours. `on_probes` lets
    somebody else see the samples too. `machine` is the one to sample (None: this one where the server is reached
    through it, else none). Raises `TargetError` (before
    a folder is made), `HostError`, `RecordError`, `DriverError` (after the outcome was written: `failed`).
    """
    here = plan.target.machine == LOCAL and is_near(plan.target) if machine is None else machine
    about = Surroundings(clock, root, server_pids, device, data_folder, here)
    binary = find_driver() if plan.verb == "run" else None
    session = engine.connect(plan.target, secret)
    writer = RunWriter(folder, plan, started_unix_s=clock.unix())
    run = _Run(plan, secret, engine, about=about, writer=writer, stop=stop or threading.Event(), on_event=on_event)
    run.on_probes = on_probes
    error: DynoError | None = None
    with contextlib.ExitStack() as stack:
        stack.callback(writer.close)
        run.facts("before", session)
        sampler = run.sampler(session)
        try:
            run.load(binary, sampler, adopt=adopt) if binary else run.watch(sampler)
        except DynoError as failure:
            error = failure
        finally:
            sampler.stop()
        run.facts("after", None)
        if server_log is not None:
            writer.server_log(server_log())
        outcome = _outcome(run, sampler, error)
        writer.finish(outcome)
    if error is not None:
        raise error
    return outcome


class _Run:
    """The steps of one run."""

    def __init__(
        self,
        plan: Plan,
        secret: Secret,
        engine: Engine,
        *,
        about: Surroundings,
        writer: RunWriter,
        stop: threading.Event,
        on_event: OnEvent | None,
    ) -> None:
        self.plan, self.secret, self.engine, self.about = plan, secret, engine, about
        self.writer, self.stop, self.on_event = writer, stop, on_event
        self.on_probes: OnProbes | None = None
        self._also: Callable[[Sample], None] = lambda _: None
        self.driver_pid: int | None = None
        self.interrupted = False

    def facts(self, when: str, session: Session | None) -> None:
        """Facts of server and machine into the record; a server that is gone is a fact with its reason."""
        facts: list[Fact] = []
        opened: Session | None = None
        try:
            opened = None if session else self.engine.connect(self.plan.target, self.secret)
            asked = session or opened
            assert asked is not None
            facts += asked.facts()
            facts += [
                Fact(name=f"setting.{one.name}", value=one.value, unit=one.unit, source=one.source)
                for one in asked.settings().values()
            ]
        except DynoError as error:
            facts.append(Fact(name="server.version", unknown=error.found or error.what))
        finally:
            if opened is not None:
                opened.close()
        about = self.about
        facts += machine_facts(
            about.machine, self.plan.target, facts, root=about.root, folder=about.data_folder, device=about.device,
            pids=self._server_pids(),
        )  # fmt: skip
        self.writer.facts(when, facts)
        self.clock_event(when)

    def clock_event(self, when: str) -> None:
        """Both clocks at once: a step of the wall clock shows as a change of their distance."""
        monotonic_s, unix_s = self.about.clock.monotonic(), self.about.clock.unix()
        self.writer.own_event("clock", 0.0, when=when, unix_s=unix_s, monotonic_s=monotonic_s)

    def sampler(self, session: Session) -> Sampler:
        """Takes the session over; the sampler closes it."""
        plan = self.plan
        line = ServerLine(lambda: self.engine.connect(plan.target, self.secret), self.about.clock, session)
        if not plan.sample:
            line.close()
        sampler = Sampler(
            clock=self.about.clock,
            emit=self._emit,
            watch=self._watch,
            root=self.about.root,
            line=line if plan.sample else None,
            probes=self.engine.probes(session.version) if plan.sample else (),
            every_s=plan.sample_every_s,
            machine=self.about.machine if plan.sample else False,
        )
        self.writer.probes(sampler.probes())
        if self.on_probes is not None:
            self._also = self.on_probes(sampler.probes())
        return sampler

    def _emit(self, sample: Sample) -> None:
        self.writer.sample(sample)
        self._also(sample)

    def load(self, binary: Path, sampler: Sampler, *, adopt: bool) -> None:
        """Runs the driver to its end. Raises `DriverError`."""
        driver = Driver(binary, run_plan(self.plan, self.secret, adopt=adopt), self.writer.folder / DRIVER_LOG)
        self.driver_pid = driver.pid
        try:
            for line, event in driver.events(self.stop):
                self.writer.event(line)
                if event["event"] == "hello":
                    sampler.start(float(event["started_monotonic_s"]))
                elif event["event"] == "phase":
                    sampler.align(float(event["t_s"]))
                if self.on_event is not None:
                    self.on_event(event)
            self.interrupted = driver.finish() == STATUS_INTERRUPTED
        finally:
            driver.kill()

    def watch(self, sampler: Sampler) -> None:
        """Records without load until the plan's time is over."""
        clock = self.about.clock
        begun = clock.monotonic()
        limit_s = sum(phase.time_s for phase in self.plan.phases)
        self.writer.own_event("recording", 0.0, monotonic_s=begun)
        sampler.start(begun)
        elapsed = 0.0
        while not self.stop.is_set() and (not limit_s or elapsed < limit_s):
            self.stop.wait(min(0.5, limit_s - elapsed) if limit_s else 0.5)
            elapsed = clock.monotonic() - begun
            if self.on_event is not None:
                self.on_event({"event": "recorded", "t_s": elapsed})
        # Without a limit, stopping is how a recording ends.
        self.interrupted = bool(limit_s) and elapsed < limit_s
        self.writer.own_event("recorded", elapsed)

    def _server_pids(self) -> Sequence[int]:
        pids = self.about.server_pids
        return pids() if callable(pids) else pids or ()

    def _watch(self) -> Watch:
        processes: dict[str, tuple[int, ...]] = {"dyno": (os.getpid(),)}
        if self.driver_pid is not None:
            processes["driver"] = (self.driver_pid,)
        if server := self._server_pids():
            processes["server"] = tuple(server)
        return Watch(processes, (self.about.device,) if self.about.device else ())


def _outcome(run: _Run, sampler: Sampler, error: DynoError | None) -> Outcome:
    record = open_run(run.writer.folder)
    status = RunStatus.FAILED if error else RunStatus.INTERRUPTED if run.interrupted else RunStatus.DONE
    return outcome_of(
        record,
        status=status,
        error=str(error) if error else "",
        device=run.about.device,
        sampling=sampler.cost(),
    )


def outcome_of(
    record: RunRecord,
    *,
    status: RunStatus,
    error: str = "",
    device: str | None = None,
    sampling: dict[str, Any] | None = None,
) -> Outcome:
    """Sums a record up, and states its doubts. A function of the folder: also for one whose writer was killed."""
    events = record.events()
    store = record.samples()
    phases = phases_of(events, record.plan.phases)
    facts = record.facts("before")
    below = next((str(fact.value) for fact in facts if fact.name == "host.disk_device" and fact.value), None)
    known = any(fact.name == "host.filesystem" and fact.value for fact in facts)
    device = device or (below if known else None)
    server = server_differences(store, phases, device=device)
    doubts = find_doubts(
        Evidence(
            plan=record.plan,
            phases=phases,
            intervals=record.intervals(),
            events=events,
            samples=store,
            facts=facts,
            server=server,
            device=device,
            interrupted=status is RunStatus.INTERRUPTED,
        )
    )
    return Outcome(status=status, phases=phases, doubts=doubts, error=error, sampling=sampling or {}, server=server)
