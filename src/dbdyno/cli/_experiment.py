"""What `dyno ladder` and `dyno sweep` share: options, the server they stand on, progress, the end."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from dbdyno.cli._options import (
    contract_of,
    contract_options,
    dataset_options,
    format_option,
    measured_options,
    seed_option,
    stacked,
)
from dbdyno.cli.common import SystemClock, allow_option, console, find_target, home, say_note, stamp, this_machine
from dbdyno.model.errors import RecordError, UsageError
from dbdyno.model.experiment import Ladder, Sweep
from dbdyno.model.record import from_json, to_json
from dbdyno.model.target import Permission
from dbdyno.model.trial import StudyPlan, Trial
from dbdyno.report.experiment import write_experiment_report
from dbdyno.run.choose import choose_workload, parse_options
from dbdyno.run.driver import list_workloads, load_dataset
from dbdyno.sandbox.targets import Resolved
from dbdyno.tune.experiment import PLAN, Experiment, Ground
from dbdyno.tune.grounds import ForeignGrounds, SandboxGrounds
from dbdyno.tune.setup import foreign_ground
from dbdyno.tune.store import StudyRecord, StudyStore, open_study
from dbdyno.tune.trial import Bench, Step

Kind = TypeVar("Kind", Ladder, Sweep)

experiment_options = stacked(
    dataset_options,
    measured_options("a run"),
    contract_options("A configuration that promises less after a loss of power is not measured."),
    click.option("--watch", multiple=True, metavar="ROLE", help="Also show this series, e.g. dead_rows; repeatable."),
    seed_option,
    click.option("--name", default=None, help="Name of the experiment below dyno's home."),
    click.option("--resume", is_flag=True, help="Go on with the experiment of that --name."),
    click.option("--keep", is_flag=True, help="Keep the private servers that were made for other datasets."),
    format_option,
    allow_option,
)
"""The options that both verbs have."""


@dataclass(frozen=True)
class Started:
    """An experiment that is ready to go on."""

    experiment: Experiment
    plan: StudyPlan
    store: StudyStore


def make_plan(resolved: Resolved, verb: str, workload: str, flags: dict[str, Any]) -> StudyPlan:
    """The plan as it was typed. Raises `UsageError`."""
    if flags["resume"] and not flags["name"]:
        raise UsageError("--resume needs the --name of the experiment.", todo="see dyno list")
    return StudyPlan(
        name=flags["name"] or f"{stamp()}-{verb}-{workload}",
        target=resolved.target,
        workload=choose_workload(workload, flags["scale"], parse_options(flags["options"]), list_workloads()),
        contract=contract_of(flags),
        threads=flags["threads"],
        seed=flags["seed"],
        trials_max=0,
        warmup_s=flags["warmup_s"],
        measure_s=flags["time_s"],
        rate_s=0.0,
        confirm_pairs=0,
        sampler=verb,
        command=("dyno", *sys.argv[1:]),
    )


def open_store(plan: StudyPlan, design: Kind, *, resume: bool) -> tuple[StudyStore, StudyRecord | None, Kind]:
    """The folder, what is in it already, and the design that counts: a resumed experiment keeps its own."""
    folder = home().studies / plan.name
    store = StudyStore(folder)
    if not resume:
        store.create(plan)
        (folder / PLAN).write_bytes(to_json({"kind": type(design).__name__.lower(), "design": design}) + b"\n")
        return store, None, design
    record = open_study(folder)
    try:
        found = msgspec.json.decode((folder / PLAN).read_bytes())
        kept = from_json(to_json(found["design"]), type(design))
    except (OSError, KeyError, TypeError, msgspec.MsgspecError) as error:
        raise RecordError(f"{folder} cannot be gone on with.", found=str(error)) from None
    if found.get("kind") != type(design).__name__.lower():
        raise RecordError(f"{folder} is a {found.get('kind')}.", todo="use the verb that made it")
    return store, record, kept


@contextlib.contextmanager
def started(
    resolved: Resolved,
    plan: StudyPlan,
    store: StudyStore,
    record: StudyRecord | None,
    watch: tuple[str, ...],
    *,
    keep: bool,
) -> Iterator[Started]:
    """The experiment on its server; at the end the server is as it was found."""
    progress = Progress(console(stderr=True))
    grounds: SandboxGrounds | ForeignGrounds
    if resolved.sandbox is None:
        grounds = _foreign(resolved, plan, store, record, progress)
    else:
        grounds = SandboxGrounds(
            home(), resolved.sandbox, plan, store, SystemClock(), progress.loading, say_note, keep=keep
        )
    try:
        with grounds:
            made = Experiment(store, grounds, list(record.trials) if record else [], watch)
            made.on_step, made.on_trial = progress.step, progress.trial
            yield Started(made, plan, store)
    except KeyboardInterrupt:
        say = f"interrupted; go on with: the same command and --name {shlex.quote(plan.name)} --resume"
        progress.err.print(say, markup=False)
        raise
    if isinstance(grounds, ForeignGrounds) and grounds.left:
        raise RecordError("NOT RESTORED: " + "; ".join(grounds.left).upper())


def _foreign(
    resolved: Resolved, plan: StudyPlan, store: StudyStore, record: StudyRecord | None, progress: Progress
) -> ForeignGrounds:
    clock = SystemClock()
    resolved.require_load("load a dataset and put load on it")
    resolved.target.require(Permission.TUNE, "change its settings")
    ground = foreign_ground(resolved, plan, store, record=record, clock=clock, machine=this_machine())
    load_dataset(
        resolved.target,
        resolved.secret,
        plan.workload,
        threads=plan.threads,
        seed=plan.seed,
        on_progress=progress.loading,
    )
    bench = Bench(
        plan=plan, space=ground.space, contract=plan.contract, needed={}, controller=ground.controller, store=store,
        clock=clock, probe=lambda: {},
    )  # fmt: skip
    return ForeignGrounds(Ground(bench=bench))


class Progress:
    """A line a run, on standard error."""

    def __init__(self, err: Any) -> None:
        self.err = err
        self._loaded = ""

    def loading(self, event: dict[str, Any]) -> None:
        if event.get("event") == "progress" and event.get("step") != self._loaded:
            self._loaded = str(event.get("step"))
            self.err.print(f"loading   {self._loaded}", markup=False)

    def step(self, step: Step, trials: Sequence[Trial]) -> None:
        self.err.print(f"run {len(trials) + 1:<4} {step.name} …", markup=False)

    def trial(self, trial: Trial, _trials: Sequence[Trial]) -> None:
        why = " ".join(trial.error.split("\n  ")[:2])  # what happened, and what was found
        figure = f"{trial.tps_charged:.0f} tps charged" if trial.tps_charged else why
        self.err.print(f"         {trial.status}: {figure} ({trial.seconds:.0f} s)", markup=False)


def finish(store: StudyStore) -> Path:
    """Writes the report and says where it is."""
    page = write_experiment_report(store.path)
    console(stderr=True).print(f"report: {page}", markup=False)
    return page


def resolve_target(target: str, flags: dict[str, Any]) -> Resolved:
    return find_target(target, flags["allow"])
