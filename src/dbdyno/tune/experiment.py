"""What a ladder and a sweep share: named arms measured in a fixed order on fresh servers, stored, resumable.

The next run is always computed from the runs so far, so going on after an interruption is the same as not having been
interrupted. An arm whose settings need another server (a page size) or whose options need another dataset stands on a
ground of its own, which is made once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dbdyno.model.errors import DynoError
from dbdyno.model.experiment import ArmResult, Configuration, ExperimentOutcome, Watched
from dbdyno.model.knob import Assignment, Setting
from dbdyno.model.record import to_json
from dbdyno.model.trial import Comparison, Trial, TrialKind, TrialStatus
from dbdyno.run.record import open_run
from dbdyno.stats.paired import compare
from dbdyno.tune import contract as contracts
from dbdyno.tune.rounds import slots
from dbdyno.tune.store import StudyStore
from dbdyno.tune.trial import Bench, Step, run_trial

PLAN = "experiment.json"


@dataclass(frozen=True)
class Arm:
    """A configuration with the name that its runs bear."""

    name: str
    configuration: Configuration


@dataclass(frozen=True)
class Ground:
    """A server and dataset that arms can be measured on."""

    bench: Bench
    prepare_s: float | None = None
    """What it cost to make, when it was made for the experiment."""


def merged(base: Configuration, change: Configuration) -> Configuration:
    """The base with a change on top."""
    return Configuration(
        settings={**base.settings, **change.settings},
        options={**base.options, **change.options},
    )


@dataclass
class Experiment:
    """State of an experiment that runs: everything that decides is in `trials`."""

    store: StudyStore
    ground_of: Callable[[Configuration], Ground]
    """Finds or makes what a configuration stands on; only its rebuild settings and its options matter."""
    trials: list[Trial]
    watch: tuple[str, ...] = ()
    on_step: Callable[[Step, Sequence[Trial]], None] = lambda _step, _trials: None
    on_trial: Callable[[Trial, Sequence[Trial]], None] = lambda _trial, _trials: None
    _prepared: dict[str, float] = field(default_factory=dict)

    def measure(self, arm: Arm, kind: TrialKind) -> Trial:
        """One run of an arm. What is wrong with its configuration is in the trial."""
        step = Step(kind, arm.name, dict(arm.configuration.settings))
        self.on_step(step, self.trials)
        number = len(self.trials) + 1
        trial = self._tried(number, step, arm.configuration)
        self.trials.append(trial)
        self.store.append(trial)
        self.on_trial(trial, self.trials)
        return trial

    def _tried(self, number: int, step: Step, configuration: Configuration) -> Trial:
        try:
            ground = self.ground_of(configuration)
        except DynoError as error:
            return _not_measured(number, step, TrialStatus.FAILED, error=str(error))
        if ground.prepare_s is not None:
            self._prepared[_key(configuration)] = ground.prepare_s
        bench = ground.bench
        if breaches := _breaches(bench, step.assignment):
            return _not_measured(number, step, TrialStatus.FAILED, error="it would break the contract: " + breaches)
        return run_trial(bench, number, step, self.trials)

    def result(self, arm: Arm, kind: TrialKind) -> ArmResult:
        """What the runs of an arm gave."""
        own = [trial for trial in slots(self._of(arm, kind), kind) if trial.status is not TrialStatus.FAILED]
        failed = [trial.error for trial in self._of(arm, kind) if trial.error]
        return ArmResult(
            name=arm.name,
            configuration=arm.configuration,
            runs=len(own),
            tps=_mean([trial.tps for trial in own]),
            tps_charged=_mean([trial.tps_charged for trial in own]),
            p99_ms=_mean([trial.p99_ms for trial in own]),
            write_bytes_per_transaction=_mean([trial.write_bytes_per_transaction for trial in own]),
            watched=watched(self.store.path, own, self.watch),
            prepare_s=self._prepared.get(_key(arm.configuration)),
            error=failed[-1] if failed and not own else "",
        )

    def _of(self, arm: Arm, kind: TrialKind) -> list[Trial]:
        return [trial for trial in self.trials if trial.kind is kind and trial.name == arm.name]

    def write(self, outcome: ExperimentOutcome) -> None:
        """Replaces the outcome in the folder."""
        file = self.store.path / "outcome.json"
        new = file.with_name("outcome.json.new")
        new.write_bytes(to_json(outcome) + b"\n")
        new.replace(file)


def _not_measured(number: int, step: Step, status: TrialStatus, *, error: str) -> Trial:
    return Trial(number=number, kind=step.kind, name=step.name, assignment=step.assignment, status=status, error=error)


def _key(configuration: Configuration) -> str:
    return to_json(configuration).decode()


def _breaches(bench: Bench, assignment: Assignment) -> str:
    """In which ways the settings break the contract's table; empty when they keep it. It is looked at before anything
    is set, and again on what the server then says. Searched ranges do not bind an experiment."""
    asked = {name: Setting(name=name, value=str(value)) for name, value in assignment.items()}
    found = contracts.judge_effective(asked, bench.space, bench.contract)
    return contracts.say(found) if found else ""


def _mean(values: Sequence[float | None]) -> float | None:
    """Geometric mean of those that are there and positive."""
    logs = [math.log(value) for value in values if value]
    return math.exp(sum(logs) / len(logs)) if logs else None


def watched(folder: Path, trials: Sequence[Trial], roles: Sequence[str]) -> tuple[Watched, ...]:
    """Mean and largest value of series, by role, over the measured phases of the trials' runs."""
    found: list[Watched] = []
    for role in roles:
        parts, unit = [], ""
        for trial in trials:
            for run in trial.runs[:1]:
                record = open_run(folder / run)
                series = record.samples().by_role(role)
                if series is None or record.outcome is None:
                    continue
                unit = series.unit
                for phase in record.outcome.phases:
                    if phase.measured:
                        parts.append(series.between(phase.started_t_s, phase.started_t_s + phase.seconds).values)
        values = np.concatenate(parts) if parts else np.empty(0)
        values = values[~np.isnan(values)]
        if values.size:
            found.append(Watched(role=role, unit=unit, mean=float(values.mean()), largest=float(values.max())))
    return tuple(found)


def paired(
    pairs: Sequence[tuple[Trial, Trial]], names: tuple[str, str], seed: int, figure: str = "tps_charged"
) -> Comparison | None:
    """The second over the first of each pair; None when no pair has both figures."""
    values = [
        (getattr(a, figure), getattr(b, figure)) for a, b in pairs if TrialStatus.FAILED not in (a.status, b.status)
    ]
    usable = [(a, b) for a, b in values if a and b]
    if not usable:
        return None
    return compare([a for a, _ in usable], [b for _, b in usable], figure=figure, names=names, seed=seed)
