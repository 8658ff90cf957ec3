"""`dyno compare`: is B faster than A? Doubts first, then ratio, interval and verdict."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dbdyno.cli._options import format_option
from dbdyno.cli.common import home
from dbdyno.model.errors import EXIT_OK, EXIT_WORSE, RecordError
from dbdyno.model.record import to_json
from dbdyno.report.comparing import FIGURES, compare_runs, compare_text
from dbdyno.run.find import find_run


@click.command("compare", short_help="Compare runs A with B: ratio, interval, verdict.")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--pairs", is_flag=True, help="A and B are lists (a,b,c) or folders of runs, paired in order.")
@click.option(
    "--figure",
    type=click.Choice(list(FIGURES)),
    default="tps",
    show_default=True,
    help="tps: throughput of the closed loop. p99: response time, at the fixed rate when all runs have one.",
)
@click.option("--fail-on-regression", is_flag=True, help="Exit status 1 when B is worse (0: same or better).")
@click.option("--anyway", is_flag=True, help="Compare even different workloads or datasets.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the bootstrap.")
@format_option
def command(  # noqa: PLR0917 - click passes by name
    a: str, b: str, pairs: bool, figure: str, fail_on_regression: bool, anyway: bool, seed: int, form: str
) -> int:
    """Compares the runs A and B: folders, or names below dyno's home (see dyno list).

    Two single runs are compared second by second, which does not know how much runs differ from one to the next. With
    --pairs, each run of A was measured next to the run of B at the same place, and one pair gives one ratio: at least
    three interleaved pairs make a proof.

    Exit status: 0 same or better, 1 worse (with --fail-on-regression), 2 an error.
    """
    view = compare_runs(find_runs(a), find_runs(b), figure=figure, pairs=pairs, seed=seed, anyway=anyway)
    sys.stdout.write(to_json(view).decode() + "\n" if form == "json" else compare_text(view))
    return EXIT_WORSE if view.worse and fail_on_regression else EXIT_OK


def find_runs(text: str) -> list[Path]:
    """A run (folder, name, its beginning, `last`), a comma list of runs, or a folder of run folders in the order of
    their names.

    Raises `RecordError` when there is none.
    """
    found: list[Path] = []
    for name in filter(None, (part.strip() for part in text.split(","))):
        folders = [Path(name), home().runs / name]
        inside = sorted(plan.parent for folder in folders for plan in folder.glob("*/plan.json"))
        found += inside or [find_run(home(), name)]
    if not found:
        raise RecordError("No run was named.", todo="name a run folder; see dyno list")
    return found
