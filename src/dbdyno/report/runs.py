"""The page of a run."""

from __future__ import annotations

from pathlib import Path

import dbdyno
from dbdyno.report import html, pictures
from dbdyno.report.files import write_page
from dbdyno.report.runview import view_run
from dbdyno.report.shapes import RunView

PAGE = "report.html"


def render_run(view: RunView) -> str:
    return html.render(
        "run.html",
        view=view,
        charts=[*view.load_charts, *view.server_charts],
        version=dbdyno.__version__,
        key=pictures.key,
        percentiles=pictures.percentiles,
    )


def write_run_report(run_path: Path, out: Path | None = None) -> Path:
    """Writes the run's report as one HTML file (`report.html` in the run's folder by default) and returns its path.

    Raises `RecordError` when the folder is not a run or the file cannot be written.
    """
    out = out or run_path / PAGE
    return write_page(out, render_run(view_run(run_path, out.absolute().parent)))
