"""`dyno record`: samples a server and its machine without load, all the time or when something happens."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from dbdyno.cli._host import host_option, machine_of, on_machine
from dbdyno.cli._options import format_option
from dbdyno.cli.bench import run_folder, stopping, without_passwords
from dbdyno.cli.common import SystemClock, console, find_target, record_lines
from dbdyno.hosts.registry import Watch
from dbdyno.model.errors import EXIT_OK
from dbdyno.model.fact import Fact
from dbdyno.model.knob import Setting
from dbdyno.model.plan import Phase, Plan
from dbdyno.model.probe import Probe, Sample
from dbdyno.model.record import to_json
from dbdyno.model.run import Outcome
from dbdyno.run.execute import execute
from dbdyno.run.incidents import Limits, Ring, Watcher
from dbdyno.run.record import open_run
from dbdyno.run.summary import doubt_lines, server_lines, watching_lines
from dbdyno.run.trigger import Condition, check_condition, parse_condition
from dbdyno.samples.machine import Machine, machine_facts
from dbdyno.samples.sampler import Sampler, ServerLine
from dbdyno.sandbox.options import parse_size
from dbdyno.sandbox.targets import Resolved

RECORDING = "recording"


def _conditions(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> tuple[Condition, ...]:
    return tuple(parse_condition(value) for value in values)


def _size(_context: click.Context, _parameter: click.Parameter, value: str) -> int:
    return parse_size(value, "--most-bytes")


@click.command("record", short_help="Sample a server and its machine, without load.")
@click.argument("target")
@click.option(
    "--time", "time_s", type=click.FloatRange(0), default=60.0, show_default=True, help="Seconds; 0: until Ctrl-C."
)
@click.option(
    "--every",
    "every_s",
    type=click.FloatRange(0.2, 3600),
    default=1.0,
    show_default=True,
    help="Seconds between samples.",
)
@click.option(
    "--when",
    "conditions",
    multiple=True,
    metavar="CONDITION",
    callback=_conditions,
    help='Save only what surrounds moments at which this holds, e.g. "waiting > 50 for 3s"; may be repeated.',
)
@click.option(
    "--before", "before_s", type=click.FloatRange(1, 86_400), default=300.0, show_default=True,
    help="With --when: seconds kept before the moment.",
)  # fmt: skip
@click.option(
    "--after", "after_s", type=click.FloatRange(0, 86_400), default=60.0, show_default=True,
    help="With --when: seconds kept after it.",
)  # fmt: skip
@click.option(
    "--rest", "rest_s", type=click.FloatRange(0), default=300.0, show_default=True,
    help="With --when: seconds between two incidents.",
)  # fmt: skip
@click.option("--most", type=click.IntRange(1, 1000), default=10, show_default=True, help="Most incidents to save.")
@click.option(
    "--most-bytes", default="512M", show_default=True, callback=_size, help="Most that they may take on disk."
)
@host_option
@click.option("--metrics-addr", metavar="HOST:PORT", help="Also answer Prometheus there, at /metrics.")
@format_option
@click.option("-o", "--name", help="Name of the record below dyno's home, or a folder when it holds a /.")
@click.pass_context
def command(context: click.Context, /, target: str, **words: Any) -> None:
    """Record what TARGET and its machine do, for --time seconds or until Ctrl-C. Only reads.

    With --when the last minutes are kept in memory and saved when the condition holds, with what follows and with
    captures made at that moment (sessions, locks, the engine's own status). Names are roles or probe.column.

    \b
    dyno record postgresql://user@host/database --time 300
    dyno record postgresql://user@host/database --time 0 --when "waiting > 20 for 3s" --metrics-addr :9187
    """
    clock = SystemClock()
    with (
        find_target(target, make=False).observing() as resolved,
        machine_of(words["host"], resolved, clock) as machine,
        stopping() as stop,
    ):
        served = on_machine(resolved, words["host"])
        plan = Plan(
            verb="record",
            target=served.target,
            interval_s=words["every_s"],
            sample_every_s=words["every_s"],
            phases=(Phase(name=RECORDING, time_s=words["time_s"]),),
            command=("dyno", *without_passwords()),
        )
        if words["conditions"]:
            saved = _watch_for(served, plan, words, clock, stop, machine=machine)
            _say_incidents(saved, words["form"])
        else:
            folder = run_folder(words["name"], served.engine.name, RECORDING, clock)
            outcome = _record(served, plan, folder, words["metrics_addr"], stop, machine=machine)
            _say_record(folder, outcome, words["form"])
    # Ctrl-C is how a recording is ended: that is no failure.
    context.exit(EXIT_OK)


def _record(
    served: Resolved, plan: Plan, folder: Path, metrics_addr: str | None, stop: threading.Event, *, machine: Machine
) -> Outcome:
    box = served.sandbox
    console(stderr=True).print(f"{plan.target.label}, record {folder}; Ctrl-C ends it", markup=False)
    return execute(
        plan,
        served.secret,
        served.engine,
        clock=SystemClock(),
        folder=folder,
        server_pids=box.server_pids if box else None,
        device=box.device() if box else None,
        data_folder=box.folder if box else None,
        stop=stop,
        server_log=box.log_tail if box else None,
        machine=machine,
        on_probes=(lambda probes: _metrics(probes, plan, metrics_addr)) if metrics_addr else None,
    )


def _metrics(probes: Sequence[Probe], plan: Plan, address: str) -> Any:
    from dbdyno.samples.metrics import Latest, serve

    latest = Latest(probes, plan.target.label)
    serve(latest, address)
    return latest.take


def _watch_for(
    served: Resolved, plan: Plan, words: dict[str, Any], clock: SystemClock, stop: threading.Event, *, machine: Machine
) -> list[Path]:
    """Watches until the time is over and returns the incidents that were saved."""
    say = console(stderr=True)
    session = served.engine.connect(served.target, served.secret)
    settings = session.settings().values()
    probes = served.engine.probes(session.version)
    ring = Ring((), words["before_s"] + words["after_s"] + 60.0)
    takers = [ring.take]
    sampler = Sampler(
        clock=clock,
        emit=lambda sample: _each(takers, sample),
        watch=lambda: _processes(served),
        line=ServerLine(lambda: served.engine.connect(served.target, served.secret), clock, session),
        probes=probes,
        every_s=words["every_s"],
        machine=machine,
    )
    ring.probes = sampler.probes()
    for condition in words["conditions"]:
        check_condition(condition, ring.probes)
    if words["metrics_addr"]:
        takers.append(_metrics(ring.probes, plan, words["metrics_addr"]))
    box = served.sandbox
    facts = [*session.facts(), *(_fact_of(one) for one in settings)]
    facts += machine_facts(machine, served.target, facts, folder=box.folder if box else None)
    watcher = Watcher(
        plan, served.secret, served.engine, clock, words["conditions"], ring,
        Limits(words["before_s"], words["after_s"], words["rest_s"], words["most"], words["most_bytes"]),
        lambda number: run_folder(_numbered(words["name"], number), served.engine.name, "incident", clock),
        facts, lambda word: say.print(word, markup=False),
    )  # fmt: skip
    said = " or ".join(one.text for one in words["conditions"])
    say.print(f"{plan.target.label}: waiting for {said}; Ctrl-C ends it", markup=False)
    started_s = clock.monotonic()
    sampler.start(started_s)
    try:
        watcher.run(started_s, words["time_s"], stop)
    finally:
        sampler.stop()
    return watcher.saved


def _each(takers: Sequence[Any], sample: Sample) -> None:
    for take in takers:
        take(sample)


def _fact_of(setting: Setting) -> Fact:
    return Fact(name=f"setting.{setting.name}", value=setting.value, unit=setting.unit, source=setting.source)


def _processes(served: Resolved) -> Watch:
    box = served.sandbox
    processes: dict[str, tuple[int, ...]] = {"dyno": (os.getpid(),)}
    if box and (pids := tuple(box.server_pids())):
        processes["server"] = pids
    device = box.device() if box else None
    return Watch(processes, (device,) if device else ())


def _numbered(name: str | None, number: int) -> str | None:
    return f"{name}-{number}" if name else None


def _say_incidents(saved: Sequence[Path], form: str) -> None:
    if form == "json":
        click.echo(to_json({"incidents": [str(folder) for folder in saved]}).decode())
        return
    for folder in saved:
        click.echo(record_lines(folder, "explain", "watch", kind="incident"))
    if not saved:
        click.echo("The condition never held; nothing was saved.")


def _say_record(folder: Path, outcome: Outcome, form: str) -> None:
    if form == "json":
        click.echo(to_json({"folder": str(folder), "outcome": outcome}).decode())
        return
    unknown = open_run(folder).samples().unknown()
    lines = doubt_lines(outcome)
    lines += [f"unknown {name}: {reason}" for name, reason in sorted(unknown.items())]
    lines += [*server_lines(outcome.server, 0), *watching_lines(outcome)]
    click.echo("\n".join(lines))
    click.echo(record_lines(folder, "explain", "report", kind="record"))
