"""Makes a study ready to run: the dataset, the space of this very server, the controller; new or resumed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from dbdyno.model.clock import Clock
from dbdyno.model.engine import Engine
from dbdyno.model.errors import ContractBroken, UsageError
from dbdyno.model.knob import Change, KnobSpace
from dbdyno.model.machine import Machine
from dbdyno.model.plan import WorkloadSpec
from dbdyno.model.record import Record, from_json, to_json
from dbdyno.model.trial import StudyPlan
from dbdyno.run.driver import load_dataset
from dbdyno.sandbox.sandbox import Sandbox
from dbdyno.sandbox.targets import Resolved
from dbdyno.tune import contract as contracts
from dbdyno.tune.control import Controller
from dbdyno.tune.foreign_control import ForeignController, Server
from dbdyno.tune.guide import causes_of
from dbdyno.tune.machine_probe import probe_machine
from dbdyno.tune.propose import searched
from dbdyno.tune.samplers import make_sampler
from dbdyno.tune.sandbox_control import SandboxController
from dbdyno.tune.store import StudyRecord, StudyStore
from dbdyno.tune.study import Study, prepare_space
from dbdyno.tune.trial import Bench

Progress = Callable[[dict[str, Any]], None]


class DatasetMark(Record, frozen=True, kw_only=True):
    """What a sandbox's pristine copy holds."""

    workload: WorkloadSpec
    seed: int


def prepare_sandbox(
    sandbox: Sandbox, workload: WorkloadSpec, *, threads: int, seed: int, on_progress: Progress | None = None
) -> bool:
    """Loads the dataset and keeps a pristine copy, unless the sandbox has just that. Returns whether it loaded.

    The server loads with the engine's first advice, which is quicker than its default; the copy is taken after a clean
    stop, so nothing of that is left in it.
    """
    mark = DatasetMark(workload=workload, seed=seed)
    file = sandbox.folder / "pristine.json"
    had = _read_mark(file)
    if had == mark and sandbox.has_pristine():
        return False
    file.unlink(missing_ok=True)
    sandbox.stop()
    engine = sandbox.engine
    machine = sandbox.machine()
    version = sandbox.installation.version
    sandbox.start({})
    session = engine.connect(sandbox.target, sandbox.secret)
    space = contracts.fit_to_server(engine.knobs(machine, version), session.settings())
    session.close()
    quick = next(iter(engine.advice(machine, version)), None)
    if quick is not None:
        sandbox.restart(contracts.fit_assignment(quick.assignment, space)[0])
    try:
        # Another dataset of ours in the way (another scale) is dropped; a cut-off load goes on.
        restart = had is not None
        load_dataset(
            sandbox.target,
            sandbox.secret,
            workload,
            threads=threads,
            seed=seed,
            on_progress=on_progress,
            restart=restart,
        )
        session = engine.connect(sandbox.target, sandbox.secret)
        session.settle()
        session.close()
    finally:
        sandbox.stop()
    sandbox.start({})
    sandbox.stop()
    sandbox.save_pristine()
    file.write_bytes(to_json(mark) + b"\n")
    return True


def _read_mark(file: Path) -> DatasetMark | None:
    try:
        return from_json(file.read_bytes(), DatasetMark)
    except (OSError, msgspec.DecodeError):
        return None


def check_knobs(names: tuple[str, ...], space: KnobSpace, *, restart: bool = True) -> None:
    """Raises `UsageError` for a name that cannot be searched."""
    known = {knob.name: knob for knob in space.knobs}
    guarded = {guard.setting for guard in space.guards}
    for name in names:
        if name in guarded:
            raise UsageError(
                f"{name} is held by the contract and not searched.",
                todo="leave it out; the contract's options decide on it",
            )
        if name not in known:
            raise UsageError(
                f"There is no knob {name!r}.", todo="use some of: " + ", ".join(knob.name for knob in space.knobs)
            )
        if known[name].change is not Change.ONLINE and not restart:
            raise UsageError(
                f"{name} only changes with a restart, which the target does not allow.",
                todo="give a restart_command in a target file, or leave the knob out",
            )


def check_plan(plan: StudyPlan, space: KnobSpace, *, restart: bool = True) -> None:
    """Finds slips of the finger before anything is loaded. Raises `UsageError` for knobs and samplers."""
    check_knobs(plan.knobs, space, restart=restart)
    make_sampler(plan.sampler, seed=plan.seed, knobs=searched(space, plan.knobs))


@dataclass(frozen=True)
class Ground:
    """What a study stands on."""

    engine: Engine
    version: int
    machine: Machine
    space: KnobSpace
    controller: Controller
    probe_folder: Path | None
    """On the data disk; None when that is not here."""


def sandbox_ground(sandbox: Sandbox, plan: StudyPlan, record: StudyRecord | None, clock: Clock) -> Ground:
    """A private server, whose lock is held and whose dataset is prepared."""
    machine = (record.machine() if record else None) or sandbox.machine()
    version = sandbox.installation.version
    return Ground(
        engine=sandbox.engine,
        version=version,
        machine=machine,
        space=sandbox.engine.knobs(machine, version),
        controller=SandboxController(sandbox, clock, recovery_s_max=plan.contract.recovery_s_max),
        probe_folder=sandbox.data.parent,
    )


def foreign_ground(
    resolved: Resolved,
    plan: StudyPlan,
    store: StudyStore,
    *,
    record: StudyRecord | None,
    clock: Clock,
    machine: Machine,
) -> Ground:
    """Somebody's server, looked at and not touched. Raises `ContractBroken` when it breaks the contract as it is."""
    server = Server(resolved.target, resolved.secret, resolved.engine, clock)
    machine = (record.machine() if record else None) or machine
    original = record.original() if record else {}
    # What a study that was cut off left set is not what the owner had.
    settings = {**server.settings(), **original}
    version = server.ask(lambda session: session.version)
    space = contracts.as_found(resolved.engine.knobs(machine, version), settings)
    if breaches := contracts.judge_effective(settings, space, plan.contract):
        raise ContractBroken(
            f"{resolved.target.label} breaks the contract as it is.",
            found=contracts.say(breaches),
            todo="put it right, or give a weaker contract (--contract, --no-pitr, --no-replication, --no-maintenance)",
        )
    names = [knob.name for knob in space.knobs if knob.name in settings]
    return Ground(
        engine=resolved.engine,
        version=version,
        machine=machine,
        space=space,
        controller=ForeignController(server, store, names, original),
        probe_folder=None,
    )


def make_study(ground: Ground, plan: StudyPlan, store: StudyStore, record: StudyRecord | None, clock: Clock) -> Study:
    """The study, ready to run or to go on. Raises `UsageError` for knobs that cannot be searched."""
    controller = ground.controller
    check_knobs(plan.knobs, ground.space, restart=controller.can_restart)
    space = prepare_space(
        ground.space, controller.look(), plan.contract, ground.machine, restart=controller.can_restart
    )
    store.write_machine(ground.machine)
    bench = Bench(
        plan=plan,
        space=space,
        contract=plan.contract,
        # Somebody's server keeps the contract as it is, or we would not be here.
        needed=contracts.needed(space, plan.contract) if controller.target.sandbox else {},
        controller=controller,
        store=store,
        clock=clock,
        probe=lambda: probe_machine(ground.probe_folder, clock),
        explain=causes_of if plan.guide else None,
    )
    study = Study(
        bench=bench,
        advice=ground.engine.advice(ground.machine, ground.version),
        machine=ground.machine,
        render=ground.engine.render,
        trials=list(record.trials) if record else [],
    )
    if record and record.outcome:
        study.outcome = record.outcome
    return study
