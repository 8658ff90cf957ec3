"""Links from a report to the raw data, relative to where the report lies."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

from dbdyno.report.shapes import Link

_RUN_FILES = {
    "plan.json": "the plan: everything that is needed to repeat the run",
    "facts.jsonl": "settings of the server and facts of the machine, before and after",
    "events.jsonl": "the driver's events with full latency histograms",
    "samples.jsonl": "answers of the probes, raw counters",
    "outcome.json": "how it ended",
    "driver.log": "words of the driver",
    "server.log": "the tail of the server's log",
}
_STUDY_FILES = {
    "study.json": "the plan of the study",
    "trials.jsonl": "one line a trial",
    "outcome.json": "winner, comparisons, contract",
    "winner.conf": "the winning configuration as a file",
    "winner.sql": "the winning configuration as statements",
    "original.json": "the server's settings before the study",
    "optuna.journal": "the sampler's memory",
}


def relative(path: Path, base: Path) -> str:
    """A link target: relative and quoted, with slashes on every system."""
    return quote(Path(os.path.relpath(path.absolute(), base.absolute())).as_posix())


def _there(path: Path, base: Path, files: dict[str, str]) -> list[Link]:
    return [
        Link(name=name, href=relative(path / name, base), says=says)
        for name, says in files.items()
        if (path / name).is_file()
    ]


def run_links(path: Path, base: Path) -> list[Link]:
    return _there(path, base, _RUN_FILES)


def study_links(path: Path, base: Path, runs: Iterable[str]) -> list[Link]:
    found = _there(path, base, _STUDY_FILES)
    count = sum(1 for run in runs if (path / run).is_dir())
    if count:
        found.append(Link(name="runs/", href=relative(path / "runs", base) + "/", says=f"{count} run folders"))
    return found
