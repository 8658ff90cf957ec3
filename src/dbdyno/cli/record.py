"""`dyno record`: samples a server and its machine without load."""

from __future__ import annotations

from typing import Any

import click

from dbdyno.cli.bench import run_folder, stopping, without_passwords
from dbdyno.cli.common import SystemClock, console, find_target
from dbdyno.model.errors import EXIT_OK
from dbdyno.model.plan import Phase, Plan
from dbdyno.model.record import to_json
from dbdyno.model.run import Outcome
from dbdyno.run.execute import execute
from dbdyno.run.record import open_run
from dbdyno.run.summary import doubt_lines, server_lines, watching_lines

RECORDING = "recording"


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
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("-o", "--name", help="Name of the record below dyno's home, or a folder when it holds a /.")
@click.pass_context
def command(
    context: click.Context, /, target: str, *, time_s: float, every_s: float, form: str, name: str | None
) -> None:
    """Record what TARGET and its machine do, for --time seconds or until Ctrl-C. Only reads.

    \b
    dyno record postgresql://user@host/database --time 300
    """
    clock = SystemClock()
    with find_target(target).serving() as served, stopping() as stop:
        folder = run_folder(name, served.engine.name, RECORDING, clock)
        box = served.sandbox
        plan = Plan(
            verb="record",
            target=served.target,
            interval_s=every_s,
            sample_every_s=every_s,
            phases=(Phase(name=RECORDING, time_s=time_s),),
            command=("dyno", *without_passwords()),
        )
        words = console(stderr=True)
        words.print(f"{plan.target.label}, record {folder}; Ctrl-C ends it", markup=False)
        outcome = execute(
            plan,
            served.secret,
            served.engine,
            clock=clock,
            folder=folder,
            server_pids=box.server_pids if box else None,
            device=box.device() if box else None,
            data_folder=box.folder if box else None,
            stop=stop,
            server_log=box.log_tail if box else None,
        )
    if form == "json":
        click.echo(to_json({"folder": str(folder), "outcome": outcome}).decode())
    else:
        _say(outcome, open_run(folder).samples().unknown())
        click.echo(f"record: {folder}")
    # Ctrl-C is how a recording is ended: that is no failure.
    context.exit(EXIT_OK)


def _say(outcome: Outcome, unknown: dict[str, Any]) -> None:
    lines = doubt_lines(outcome)
    lines += [f"unknown {name}: {reason}" for name, reason in sorted(unknown.items())]
    lines += [*server_lines(outcome.server, 0), *watching_lines(outcome)]
    click.echo("\n".join(lines))
