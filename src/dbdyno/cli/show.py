"""`dyno show`: a run's summary, from its record."""

from __future__ import annotations

import datetime

import click

from dbdyno.cli._options import format_option
from dbdyno.cli.common import home
from dbdyno.model.record import to_json
from dbdyno.model.run import RunStatus
from dbdyno.run.execute import outcome_of
from dbdyno.run.find import find_run
from dbdyno.run.record import open_run
from dbdyno.run.summary import DEFAULT_PERCENTILES, summary_lines


@click.command("show", short_help="Show a run's summary.")
@click.argument("run", default="last")
@click.option(
    "--percentile", "percentiles", multiple=True, type=click.FloatRange(0, 100, min_open=True), help="May be repeated."
)
@format_option
def command(run: str, percentiles: tuple[float, ...], form: str) -> None:
    """Show RUN: a folder, a name, the beginning of a name, or `last`.

    A run that was cut off is summed up from what is there.
    """
    record = open_run(find_run(home(), run))
    outcome = record.outcome or outcome_of(record, status=RunStatus.RUNNING)
    if form == "json":
        content = {"folder": str(record.path), "plan": record.plan, "started_unix_s": record.started_unix_s,
                   "outcome": outcome, "finished": record.outcome is not None,
                   "unreadable_lines": record.unreadable_lines}  # fmt: skip
        click.echo(to_json(content).decode())
        return
    plan = record.plan
    when = datetime.datetime.fromtimestamp(record.started_unix_s)
    what = f"{plan.workload.name}, scale {plan.workload.scale}" if plan.workload else "recording without load"
    click.echo(f"{record.path.name}: {what}, {plan.target.label}, {when:%Y-%m-%d %H:%M:%S}, seed {plan.seed}\n")
    if record.outcome is None:
        click.echo("DOUBT The record has no end: the run goes on, or dyno was killed.")
    if record.unreadable_lines:
        click.echo(f"DOUBT {record.unreadable_lines} lines of the record cannot be read and were left out.")
    click.echo("\n".join(summary_lines(outcome, percentiles or DEFAULT_PERCENTILES)))
