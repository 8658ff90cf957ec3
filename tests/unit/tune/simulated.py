"""A simulated server under the tuner: a planted optimum, noise, drift, failures, write debt, on a simulated clock."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dbdyno.model.contract import Contract
from dbdyno.model.engine import Debt
from dbdyno.model.errors import SandboxError
from dbdyno.model.knob import Advice, Assignment, Guard, Knob, KnobSpace, Level, Setting
from dbdyno.model.machine import DiskClass, Machine
from dbdyno.model.plan import Plan, WorkloadSpec
from dbdyno.model.run import Latency, Outcome, PhaseOutcome, RunStatus
from dbdyno.model.target import Permission, Target
from dbdyno.model.trial import StudyPlan, Trial
from dbdyno.tune.contract import needed
from dbdyno.tune.control import Recovery, Started, Stop
from dbdyno.tune.store import StudyRecord, StudyStore
from dbdyno.tune.study import Study, prepare_space
from dbdyno.tune.trial import Bench

MACHINE = Machine(memory_bytes=1000, cores=2, disk=DiskClass.SSD)
TARGET = Target(
    engine="sim", host="nowhere", port=1, user="u", database="d", allow=frozenset(Permission), sandbox="sim"
)

SPACE = KnobSpace(
    knobs=(
        Knob(name="cache", title="cache", low=1, high=2000, log=True, default=10, memory_bytes_per_unit=1.0),
        Knob(name="buffer", title="buffer", low=1, high=700, log=True, default=1, memory_bytes_per_unit=1.0),
        Knob(name="log_size", title="log", low=10, high=10000, log=True, default=10, recovery_bytes_per_unit=1.0),
        Knob(name="delay", title="delay", low=1, high=100, log=True, special=(0,), default=0),
        Knob(name="compress", title="compress", choices=("off", "fast", "slow"), default="off"),
        Knob(name="noise_only", title="does nothing", low=0, high=1, integer=False, default=0.5),
        Knob(name="hidden", title="not searched", low=0, high=1, integer=False, default=0.5, searched=False),
    ),
    guards=(
        Guard(setting="sync", levels={"on": Level.L3, "off": Level.L0}, otherwise=Level.L0, why="loses data"),
        Guard(setting="archive", levels={}, pitr=("on",), why="no archive"),
    ),
    needs={"pitr": {"archive": "on"}},
    recovery_bytes_per_s=100.0,
)


class SimClock:
    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def unix(self) -> float:
        return 1_700_000_000.0 + self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def speed(assignment: Mapping[str, Any]) -> float:
    """The planted response: best at cache 400, delay off, fast compression; log_size helps to 1000."""
    cache = float(assignment.get("cache", 10))
    log_size = float(assignment.get("log_size", 10))
    delay = float(assignment.get("delay", 0))
    tps = 1000.0 * math.exp(-0.1 * math.log(cache / 400) ** 2)
    tps *= 1.0 + 0.25 * min(math.log10(log_size / 10), 2.0)
    tps *= 1.0 if delay == 0 else 0.95 - 0.001 * delay
    return tps * {"off": 1.0, "fast": 1.15, "slow": 0.9}[str(assignment.get("compress", "off"))]


BEST = speed({"cache": 400, "log_size": 1000, "compress": "fast"})


@dataclass
class SimServer:
    """See `dbdyno.tune.control.Controller`; every method moves the clock."""

    clock: SimClock
    seed: int = 1
    noise: float = 0.02
    drift: Any = None
    """Log speed of the machine by seconds since the beginning."""
    debt_per_s: Any = None
    """Seconds of drain for each measured second, by assignment."""
    fails_above: float = math.inf
    """Value of `cache` above which it does not start."""
    ignores: frozenset[str] = frozenset()
    """Settings that it does not take over."""
    effective: dict[str, str] = field(default_factory=dict)
    """Settings that it has whatever is asked."""
    interrupt_at: int = -1
    """Number of the measurement during which Ctrl-C is pressed."""
    asked: list[Assignment] = field(default_factory=list)
    measured: int = 0
    restored: int = 0
    left: list[str] = field(default_factory=list)
    now: Assignment = field(default_factory=dict)
    doubts_of: Any = None
    disk_of: Any = None
    """What a measurement's disk took, by the measurement's number."""

    target: Target = TARGET
    standing: tuple[Any, ...] = ()
    can_restart: bool = True

    def look(self) -> Mapping[str, Setting]:
        values = {"sync": "on", "archive": "off", **{knob.name: str(knob.default) for knob in SPACE.knobs}}
        return {name: Setting(name=name, value=value) for name, value in values.items()}

    def start(self, assignment: Assignment) -> Started:
        self.clock.sleep(1.0)
        self.asked.append(dict(assignment))
        if float(assignment.get("cache", 10)) > self.fails_above:
            raise SandboxError("The server ended while it started.", found="FATAL: could not map shared memory")
        self.now = dict(assignment)
        settings = {name: setting.value for name, setting in self.look().items()}
        settings |= {name: str(value) for name, value in assignment.items() if name not in self.ignores}
        settings |= self.effective
        differing = {name: settings[name] for name in assignment if settings[name] != str(assignment[name])}
        return Started({name: Setting(name=name, value=value) for name, value in settings.items()}, differing)

    def _tps(self) -> float:
        # A function of when it is measured, so that a resumed study sees the same machine.
        rng = np.random.default_rng([self.seed, int(self.clock.now)])
        drift = self.drift(self.clock.now - 1000.0) if self.drift else 0.0
        return speed(self.now) * math.exp(drift + rng.normal(0.0, self.noise))

    def measure(self, plan: Plan, folder: Path, stop: Stop | None = None) -> Outcome:
        self.measured += 1
        folder.mkdir(parents=True)
        if self.measured == self.interrupt_at:
            raise KeyboardInterrupt
        tps, phases, cut = self._tps(), [], False
        for phase in plan.phases:
            seconds = 0.0
            rate = phase.rate_per_s or tps
            while seconds < phase.time_s and not cut:
                self.clock.sleep(1.0)
                seconds += 1.0
                event = {
                    "event": "interval",
                    "phase": phase.name,
                    "seconds": 1.0,
                    "transactions": {"all": {"count": int(rate)}},
                }
                cut = bool(stop and stop(event))
            latency = Latency(count=1, p99_us=1e6 / tps * 8)
            phases.append(
                PhaseOutcome(
                    phase=phase.name,
                    started_t_s=0.0,
                    seconds=seconds,
                    threads=1,
                    measured=phase.measured,
                    count=int(rate * seconds),
                    tps=rate,
                    transactions={},
                    errors=0,
                    retries=0,
                    response=latency,
                    service=latency,
                )
            )
        self._seconds = sum(phase.seconds for phase in phases if phase.measured)
        doubts = self.doubts_of(self.measured) if self.doubts_of else ()
        server = {"wal_bytes": 1000.0 * tps * self._seconds, "write_bytes": 3000.0 * tps * self._seconds}
        server |= self.disk_of(self.measured) if self.disk_of else {}
        return Outcome(
            status=RunStatus.INTERRUPTED if cut else RunStatus.DONE, phases=tuple(phases), doubts=doubts, server=server
        )

    def settle(self) -> Debt:
        drain_s = self.debt_per_s(self.now) * self._seconds if self.debt_per_s else 0.0
        self.clock.sleep(drain_s)
        return Debt(seconds=drain_s, written_bytes=0.0)

    def stop(self) -> None:
        self.clock.sleep(0.5)

    def recover(self, assignment: Assignment, plan: Plan, folder: Path, *, after_s: float) -> Recovery | None:
        self.start(assignment)
        self.clock.sleep(after_s + 3.0)
        return Recovery(seconds=3.0, loaded_s=after_s)

    def restore(self) -> list[str]:
        self.restored += 1
        return self.left


def render(assignment: Assignment) -> tuple[str, list[str]]:
    return (
        "".join(f"{name} = {value}\n" for name, value in assignment.items()),
        [f"SET {name} = {value};" for name, value in assignment.items()],
    )


ADVICE = (
    Advice(name="formula", title="f", assignment={"cache": 100, "log_size": 300}, reasons={}),
    Advice(name="other", title="o", assignment={"cache": 50, "unknown_to_server": 1}, reasons={}),
)


def plan_of(**changes: Any) -> StudyPlan:
    fields: dict[str, Any] = {
        "name": "s",
        "target": TARGET,
        "workload": WorkloadSpec(name="w"),
        "contract": Contract(recovery_s_max=60.0),
        "threads": 4,
        "seed": 7,
        "trials_max": 25,
        "warmup_s": 2.0,
        "measure_s": 20.0,
        "rate_s": 5.0,
        "confirm_pairs": 4,
        "sampler": "tpe",
    }
    return StudyPlan(**{**fields, **changes})


def study_of(
    path: Path,
    server: SimServer,
    plan: StudyPlan,
    *,
    record: StudyRecord | None = None,
    probe: Any = None,
    explain: Any = None,
) -> Study:
    """A study on the simulated server; without a record it is a new one. `explain` says what held it back, by what the
    server was last started with; a study with `guide` off never asks it."""
    store = StudyStore(path)
    if record is None:
        store.create(plan)
    space = prepare_space(SPACE, server.look(), plan.contract, MACHINE, restart=True)
    bench = Bench(
        plan=plan,
        space=space,
        contract=plan.contract,
        needed=needed(space, plan.contract),
        controller=server,
        store=store,
        clock=server.clock,
        probe=probe or (lambda: {"spin_per_us": 10.0}),
        explain=(lambda _folder: explain(server.now)) if explain and plan.guide else None,
    )
    study = Study(bench=bench, advice=ADVICE, machine=MACHINE, render=render, trials=[])
    if record is not None:
        study.trials = list(record.trials)
        if record.outcome:
            study.outcome = record.outcome
    return study


def essence(trials: list[Trial]) -> list[tuple[str, str, Any]]:
    """What two studies must have in common to be the same."""
    return [(trial.kind, trial.name, trial.assignment) for trial in trials]
