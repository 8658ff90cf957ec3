"""`dyno tune`: finds a faster configuration within a durability contract, and confirms it."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

import click

from dbdyno.cli._options import (
    contract_of,
    contract_options,
    dataset_options,
    format_option,
    measured_options,
    seed_option,
)
from dbdyno.cli._tuneview import View
from dbdyno.cli.common import SystemClock, allow_option, console, find_target, home, stamp, this_machine
from dbdyno.model.errors import EXIT_OK, EXIT_WORSE, UsageError
from dbdyno.model.target import Permission
from dbdyno.model.trial import StudyOutcome, StudyPlan
from dbdyno.run.choose import choose_workload, parse_options
from dbdyno.run.driver import list_workloads, load_dataset
from dbdyno.sandbox.targets import Resolved
from dbdyno.tune.foreign_control import Server, restore_server
from dbdyno.tune.proof import Prover
from dbdyno.tune.setup import Ground, check_plan, foreign_ground, make_study, prepare_sandbox, sandbox_ground
from dbdyno.tune.store import StudyRecord, StudyStore, open_study


def split_words(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in value.split(",") if word.strip())


@click.command(name="tune", short_help="Find a faster configuration within a durability contract.")
@click.argument("target", required=False)
@click.argument("workload", required=False)
@dataset_options
@click.option(
    "--trials",
    type=click.IntRange(3),
    default=24,
    show_default=True,
    help="Configurations to measure; default and formulas count, repeats and anchors do not.",
)
@measured_options("a trial")
@click.option(
    "--rate-time",
    "rate_s",
    type=click.FloatRange(0),
    default=20.0,
    show_default=True,
    help="Seconds at a fixed rate in confirmation runs, for the response time; 0: none.",
)
@click.option("--pairs", type=click.IntRange(0), default=4, show_default=True, help="Rounds of the confirmation.")
@contract_options("What must survive a loss of power: L3 everything acknowledged … L0 nothing.")
@click.option(
    "--max-recovery",
    "recovery_s",
    type=click.FloatRange(1),
    default=120.0,
    show_default=True,
    help="Longest recovery after a crash, in seconds.",
)
@click.option(
    "--max-p99",
    "p99_ms",
    type=click.FloatRange(0, min_open=True),
    default=None,
    help="Longest 99th percentile at the fixed rate, in milliseconds.",
)
@click.option("--sampler", default="auto", show_default=True, help="How to search: auto, gp, tpe, random …")
@click.option(
    "--guide/--no-guide",
    default=True,
    help="Spend up to a third of the search on what explains the best run so far (see dyno explain).",
)
@click.option(
    "--knobs", default="", metavar="A,B", callback=split_words, help="Search only these; else a curated list."
)
@click.option("--name", default=None, help="Name of the study.")
@click.option("--resume", default=None, metavar="STUDY", help="Go on with a study that was interrupted.")
@click.option(
    "--restore",
    default=None,
    metavar="STUDY",
    help="Put a server that is not a sandbox back to what was found before the study.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@allow_option
@click.option(
    "--time-limit",
    "limit_s",
    type=click.FloatRange(0),
    default=0.0,
    help="Seconds for all trials; the search ends early enough to confirm.",
)
@seed_option
@click.option("--ablate/--no-ablate", default=True, help="Measure what each setting of the winner contributes.")
@click.option(
    "--ablate-runs",
    "ablate_runs",
    type=click.IntRange(3),
    default=16,
    show_default=True,
    help="Most runs that this may take.",
)
@click.option(
    "--validate-time",
    "validate_s",
    type=click.FloatRange(0),
    default=600.0,
    show_default=True,
    help="Most seconds of one long run of the winner, which should hold two checkpoint cycles; 0: none.",
)
@click.option(
    "--crash-states",
    type=click.IntRange(0, 10_000),
    default=50,
    show_default=True,
    help="Crash states of the power-loss proof of the winner (a sandbox's only); 0: not run, and then not called safe.",
)
@format_option
def command(target: str | None, workload: str | None, **flags: Any) -> int:  # fmt: skip
    """Find a faster configuration for TARGET under WORKLOAD, within a durability contract, and confirm it.

    Measures the server's default and published formulas first, then asks what holds the best of them back and changes
    that, then searches. Each trial starts from the same dataset;
    writes that a configuration puts off are charged to it. The winner is compared with the default and the best formula
    in interleaved pairs, run once over two checkpoint cycles, crashed under load to time its recovery, and
    taken apart knob by knob. At the end the power of a sandbox is cut in many places (see dyno crash); what has not
    passed that is not called safe.

    A sandbox may be tuned freely; any other server needs --allow load,tune and is put back as it was found. A study
    can be interrupted at any moment and resumed with --resume.

    Exit status: 0 done; 1 the contract is broken; 2 an error; 130 interrupted.

    \b
    Examples:
      dyno tune 'sandbox:postgresql?disk=xfs&iops=3000' tpcc --scale 10
      dyno tune server.toml oltp_write_only --allow load,tune --dry-run
      dyno tune --resume NAME
    """
    clock = SystemClock()
    if flags["restore"]:
        return restore(_path(flags["restore"]), target, flags["allow"])
    record = open_study(_path(flags["resume"])) if flags["resume"] else None
    resolved = _resolve(record, target, flags["allow"])
    if record:
        plan = record.plan
    else:
        if not target or not workload:
            raise UsageError("dyno tune needs a TARGET and a WORKLOAD.", todo="see dyno tune --help")
        plan = _plan(resolved, workload, flags)
    store = StudyStore(record.path if record else home().studies / plan.name)
    view = View(console(), console(stderr=True), plan, json_lines=flags["form"] == "json")
    if resolved.sandbox is None:
        return _foreign(resolved, plan, store, record, view, dry_run=flags["dry_run"])
    if flags["dry_run"]:
        view.dry_sandbox()
        return EXIT_OK
    sandbox = resolved.sandbox
    with sandbox.held():
        if not record:
            check_plan(plan, sandbox.engine.knobs(sandbox.machine(), sandbox.installation.version))
            store.create(plan)
        view.opening(store.path)
        prepare_sandbox(sandbox, plan.workload, threads=plan.threads, seed=plan.seed, on_progress=view.loading)
        ground = sandbox_ground(sandbox, plan, record, clock)
        prover = Prover(
            sandbox,
            plan.contract,
            home().crashes,
            clock,
            states=plan.crash_states,
            seed=plan.seed,
            command=plan.command,
            watcher=view.proof_watcher(),
            on_start=view.proof_begins,
        )
        return _run(ground, plan, store, record, view, prover=prover)


def _path(study: str) -> Path:
    """A study by its name or its folder."""
    return Path(study) if "/" in study else home().studies / study


def _resolve(record: StudyRecord | None, target: str | None, allow: tuple[str, ...]) -> Resolved:
    """The server: as it is named now, else as the study knew it. What a study was allowed it stays allowed."""
    if record is None:
        if target is None:
            raise UsageError("dyno tune needs a TARGET and a WORKLOAD.", todo="see dyno tune --help")
        return find_target(target, allow)
    known = record.plan.target
    allowed = (*allow, *(str(one) for one in known.allow)) if not known.sandbox else allow
    if target:
        return find_target(target, allowed)
    if known.sandbox:
        return find_target(known.label, allowed)
    where = f"{known.host}:{known.port}/{known.database}"
    if known.host.startswith("/"):
        where = f"/{known.database}?host={known.host}&port={known.port}"
    found = find_target(f"{known.engine}://{known.user}@{where}", allowed)
    return Resolved(known, found.secret, found.engine)


def _plan(resolved: Resolved, workload: str, flags: dict[str, Any]) -> StudyPlan:
    return StudyPlan(
        name=flags["name"] or f"{stamp()}-{resolved.engine.name}-{workload}",
        target=resolved.target,
        workload=choose_workload(workload, flags["scale"], parse_options(flags["options"]), list_workloads()),
        contract=contract_of(flags, recovery_s_max=flags["recovery_s"], p99_ms_max=flags["p99_ms"]),
        threads=flags["threads"],
        seed=flags["seed"],
        trials_max=flags["trials"],
        warmup_s=flags["warmup_s"],
        measure_s=flags["time_s"],
        rate_s=flags["rate_s"],
        confirm_pairs=flags["pairs"],
        sampler=flags["sampler"],
        guide=flags["guide"],
        knobs=flags["knobs"],
        time_limit_s=flags["limit_s"],
        ablate=flags["ablate"],
        ablate_runs_max=flags["ablate_runs"],
        validate_s=flags["validate_s"],
        crash_states=flags["crash_states"],
        command=tuple(["dyno", *sys.argv[1:]]),
    )


def _foreign(
    resolved: Resolved,
    plan: StudyPlan,
    store: StudyStore,
    record: StudyRecord | None,
    view: View,
    *,
    dry_run: bool,
) -> int:
    clock = SystemClock()
    ground = foreign_ground(resolved, plan, store, record=record, clock=clock, machine=this_machine())
    check_plan(plan, ground.space, restart=ground.controller.can_restart)
    if dry_run:
        view.dry_foreign(ground, resolved.target)
        return EXIT_OK
    resolved.require_load("load a dataset and put load on it")
    resolved.target.require(Permission.TUNE, "change its settings")
    if not record:
        store.create(plan)
    view.opening(store.path)
    load_dataset(
        resolved.target,
        resolved.secret,
        plan.workload,
        threads=plan.threads,
        seed=plan.seed,
        on_progress=view.loading,
    )
    return _run(ground, plan, store, record, view)


def _run(
    ground: Ground,
    plan: StudyPlan,
    store: StudyStore,
    record: StudyRecord | None,
    view: View,
    *,
    prover: Prover | None = None,
) -> int:
    study = make_study(ground, plan, store, record, SystemClock())
    study.prover = prover
    view.begin(study)
    study.on_step, study.on_trial = view.step, view.trial
    before = _catch_signals(view)
    try:
        outcome = study.run()
    except KeyboardInterrupt:
        view.interrupted(study)
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    view.summary(study, outcome, _report(store.path, view))
    return _status(outcome)


def _catch_signals(view: View) -> dict[int, Any]:
    """The first Ctrl-C (or SIGTERM) ends the study in order; while it puts things back, more of them are ignored."""

    def handle(_number: int, _frame: Any) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda _n, _f: view.patience())
        raise KeyboardInterrupt

    return {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}


def _report(path: Path, view: View) -> Path | None:
    try:
        from dbdyno.report.study import write_study_report
    except ImportError as error:
        view.note(f"No report: {error}")
        return None
    return write_study_report(path)


def _status(outcome: StudyOutcome) -> int:
    return EXIT_WORSE if outcome.contract.get("kept") is False else EXIT_OK


def restore(path: Path, target: str | None, allow: tuple[str, ...]) -> int:
    """Undoes what a study left on a server."""
    record = open_study(path)
    out = console()
    if record.plan.target.sandbox:
        out.print(f"{record.plan.target.label} is a sandbox: each start writes its configuration anew. Nothing to do.")
        return EXIT_OK
    original = record.original()
    if not original:
        out.print("The study changed nothing on the server. Nothing to do.")
        return EXIT_OK
    resolved = _resolve(record, target, allow)
    machine = record.machine() or this_machine()
    server = Server(resolved.target, resolved.secret, resolved.engine, SystemClock())
    version = server.ask(lambda session: session.version)
    names = {knob.name for knob in resolved.engine.knobs(machine, version).knobs}
    names |= {name for trial in record.trials for name in trial.assignment}
    left = restore_server(server, original, sorted(names))
    if left:
        console(stderr=True).print("NOT RESTORED: " + "; ".join(left).upper(), markup=False)
        return EXIT_WORSE
    out.print(f"{resolved.target.label} is as it was found before the study {record.plan.name}.", markup=False)
    return EXIT_OK
