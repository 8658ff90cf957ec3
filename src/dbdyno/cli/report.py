"""`dyno report`: a run or a study as one HTML page, as text or as JSON."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dbdyno.cli.common import home
from dbdyno.model.record import to_json
from dbdyno.report.crash import CrashView, is_proof, proof_text, render_proof, view_proof
from dbdyno.report.experiment import (
    PAGE,
    ExperimentView,
    experiment_text,
    is_experiment,
    render_experiment,
    view_experiment,
)
from dbdyno.report.files import write_page
from dbdyno.report.runs import render_run
from dbdyno.report.runview import view_run
from dbdyno.report.shapes import RunView, StudyView
from dbdyno.report.study import render_study
from dbdyno.report.studyview import view_study
from dbdyno.report.text import run_text, study_text
from dbdyno.run.find import find_entry


@click.command("report", short_help="Write a run or a study as one HTML page, as text or JSON.")
@click.argument("record", metavar="RUN|STUDY")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Where to write; '-' is standard output.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "text", "json"]),
    default="html",
    show_default=True,
    help="html: one self-contained page (report.html in the folder). text, json: to standard output.",
)
def command(record: str, output: Path | None, form: str) -> None:
    """Writes the report of RUN or STUDY: a folder, a name (see dyno list), its beginning, or `last`.

    The page loads nothing from the network; the same folder gives the same page.
    """
    path = find_entry(home(), record)
    to_stdout = output is not None and str(output) == "-"
    if form == "html" and not to_stdout:
        output = output or path / PAGE
    base = output.absolute().parent if output is not None and not to_stdout else Path.cwd()
    text = _text(path, base, form)
    if output is None or to_stdout:
        sys.stdout.write(text)
    else:
        click.echo(str(write_page(output, text)))


def _text(path: Path, base: Path, form: str) -> str:
    """The record in one of the forms; links are relative to `base`."""
    view = _view(path, base)
    if form == "json":
        return to_json(view).decode() + "\n"
    html = form == "html"
    match view:
        case StudyView():
            return render_study(view) if html else study_text(view)
        case CrashView():
            return render_proof(view) if html else proof_text(view)
        case ExperimentView():
            return render_experiment(view) if html else experiment_text(view) + "\n"
        case RunView():
            return render_run(view) if html else run_text(view)


def _view(path: Path, base: Path) -> StudyView | ExperimentView | RunView | CrashView:
    if is_proof(path):
        return view_proof(path)
    if is_experiment(path):
        return view_experiment(path, base)
    return view_study(path, base) if (path / "study.json").is_file() else view_run(path, base)
