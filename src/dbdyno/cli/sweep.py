"""`dyno sweep`: measures a grid of settings and names where the better value changes."""

from __future__ import annotations

from typing import Any

import click

from dbdyno.cli._experiment import experiment_options, finish, make_plan, open_store, resolve_target, started
from dbdyno.cli.common import console
from dbdyno.model.errors import EXIT_OK, UsageError
from dbdyno.model.experiment import Configuration, Sweep
from dbdyno.model.record import to_json
from dbdyno.report.experiment import experiment_text, view_experiment
from dbdyno.tune.sweep import SweepRun, parse_axis, points


@click.command(name="sweep", short_help="Measure a grid of settings.")
@click.argument("target")
@click.argument("workload")
@click.option("--knob", "knobs", multiple=True, metavar="NAME=V,V,…", help="An axis of the grid; may be repeated.")
@click.option("--axis", "axes", multiple=True, metavar="NAME=V,V,…", help="An axis that is an option of the workload.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Holds for all points.")
@click.option("--repeats", type=click.IntRange(1, 50), default=3, show_default=True, help="Runs of each point.")
@click.option(
    "--fraction",
    type=click.FloatRange(0, 1, min_open=True),
    default=1.0,
    show_default=True,
    help="Part of the grid to measure; values stay balanced.",
)
@experiment_options
def command(target: str, workload: str, *, knobs: tuple[str, ...], repeats: int, fraction: float, **flags: Any) -> int:
    """Measure the grid of all --knob values on TARGET under WORKLOAD, each point in every round, rounds to and fro.

    Shows ratios to the first point with intervals, and where along one axis the better value of another one changes.
    Settings that a server takes only when it is made (a page size) get a server of their own; what that cost is shown.

    \b
    Example:
      dyno sweep sandbox:postgresql tpcc --knob shared_buffers=128MB,1GB --knob wal_compression=off,on
    """
    axes = tuple(parse_axis(text) for text in knobs) + tuple(parse_axis("option:" + text) for text in flags["axes"])
    if not axes:
        raise UsageError("A sweep needs an axis.", todo="give --knob name=value,value,…")
    fixed = {axis.name: axis.values[0] for axis in (parse_axis(text) for text in flags["settings"])}
    sweep = Sweep(base=Configuration(settings=fixed), axes=axes, fraction=fraction, watch=tuple(flags["watch"]))
    chosen = points(sweep, flags["seed"])
    resolved = resolve_target(target, flags)
    plan = make_plan(resolved, "sweep", workload, flags)
    store, record, sweep = open_store(plan, sweep, resume=flags["resume"])
    plan = record.plan if record else plan
    console(stderr=True).print(f"sweep     {len(chosen)} points, {repeats} runs each, in {store.path}", markup=False)
    with started(resolved, plan, store, record, sweep.watch, keep=flags["keep"]) as one:
        outcome = SweepRun(one.experiment, sweep, repeats, plan.seed).run()
    if flags["form"] == "json":
        click.echo(to_json({"folder": str(store.path), "outcome": outcome}).decode())
    else:
        click.echo(experiment_text(view_experiment(store.path)))
    finish(store)
    return EXIT_OK
