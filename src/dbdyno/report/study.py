"""The page of a tuning study."""

from __future__ import annotations

from pathlib import Path

import dbdyno
from dbdyno.report import html, pictures
from dbdyno.report.files import write_page
from dbdyno.report.shapes import StudyView
from dbdyno.report.studyview import view_study

PAGE = "report.html"


def render_study(view: StudyView) -> str:
    return html.render(
        "study.html",
        view=view,
        charts=view.charts,
        version=dbdyno.__version__,
        key=pictures.key,
        interval=pictures.interval_words,
        forest=pictures.forest,
        slopes=pictures.slopes,
        trials=pictures.trials,
        contributions=pictures.contributions,
    )


def write_study_report(study_path: Path, out: Path | None = None) -> Path:
    """Writes the study's report as one HTML file (`report.html` in the study's folder by default), returns its path.

    Raises `RecordError` when the folder is not a study or the file cannot be written.
    """
    out = out or study_path / PAGE
    return write_page(out, render_study(view_study(study_path, out.absolute().parent)))
