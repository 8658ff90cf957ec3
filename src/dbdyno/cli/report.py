"""`dyno report`: a run or a study as one HTML page, as text or as JSON."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dbdyno.cli.common import home
from dbdyno.model.record import to_json
from dbdyno.report.files import write_page
from dbdyno.report.runs import write_run_report
from dbdyno.report.runview import view_run
from dbdyno.report.shapes import RunView, StudyView
from dbdyno.report.study import write_study_report
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
    study = (path / "study.json").is_file()
    to_stdout = output is not None and str(output) == "-"
    if form == "html" and not to_stdout:
        written = write_study_report(path, output) if study else write_run_report(path, output)
        click.echo(str(written))
        return
    text = _text(path, study, form)
    if output is None or to_stdout:
        sys.stdout.write(text)
    else:
        click.echo(str(write_page(output, text)))


def _text(path: Path, study: bool, form: str) -> str:
    base = Path.cwd()
    view: StudyView | RunView = view_study(path, base) if study else view_run(path, base)
    if form == "json":
        return to_json(view).decode() + "\n"
    if form == "text":
        return study_text(view) if isinstance(view, StudyView) else run_text(view)
    from dbdyno.report.runs import render_run
    from dbdyno.report.study import render_study

    return render_study(view) if isinstance(view, StudyView) else render_run(view)
