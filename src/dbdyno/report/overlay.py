"""Throughput and response time of two arms on one time axis: the default's and the winner's run of one pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dbdyno.model.errors import RecordError
from dbdyno.model.trial import StudyOutcome, Trial, TrialKind
from dbdyno.report import arms
from dbdyno.report.panels import checkpoints
from dbdyno.report.reading import Load, closed_phase, load_of
from dbdyno.report.shapes import DEFAULT_COLOR, WINNER_COLOR, Chart, Line, Mark
from dbdyno.report.thin import Floats, thin
from dbdyno.run.record import RunRecord, open_run


@dataclass(frozen=True)
class _Side:
    name: str
    color: int
    step_s: float
    t_s: Floats
    tps: Floats
    p99_ms: Floats
    marks: list[Mark]


def overlay(path: Path, trials: Sequence[Trial], outcome: StudyOutcome | None) -> tuple[list[Chart], str, str]:
    """Charts, what they show, and otherwise why there are none."""
    for first, second, words in _candidates(trials, outcome):
        sides = [_side(path, trial, name, color) for trial, name, color in (first, second)]
        if all(sides):
            both = [side for side in sides if side is not None]
            return _charts(both), words, ""
    return [], "", "No two run folders of the default and the winner can be read, so their runs cannot be drawn."


def _candidates(
    trials: Sequence[Trial], outcome: StudyOutcome | None
) -> list[tuple[tuple[Trial, str, int], tuple[Trial, str, int], str]]:
    """Pairs of the confirmation in order, then the baseline with the best trial."""
    confirmed = arms.believed(one for one in trials if one.kind == TrialKind.CONFIRM)
    names = [name for name in arms.names_in_order(confirmed) if name != arms.WINNER]
    other = "default" if "default" in names else names[0] if names else ""
    found = [
        (
            (a, other, DEFAULT_COLOR),
            (b, arms.WINNER, WINNER_COLOR),
            f"One pair of the confirmation: trials {a.number} and {b.number}.",
        )
        for a, b in zip(
            [one for one in confirmed if one.name == other],
            [one for one in confirmed if one.name == arms.WINNER],
            strict=False,
        )
    ]
    base = next((one for one in trials if one.kind == TrialKind.BASELINE and one.name == "default"), None)
    best = next((one for one in trials if outcome and one.number == outcome.winner_trial), None) or arms.best_search(
        trials
    )
    if base is not None and best is not None and best is not base:
        words = f"Trials {base.number} and {best.number} of the search, minutes apart and not a pair."
        found.append(
            ((base, "default", DEFAULT_COLOR), (best, best.name or f"trial {best.number}", WINNER_COLOR), words)
        )
    return found


def _side(path: Path, trial: Trial, name: str, color: int) -> _Side | None:
    for run in trial.runs:
        try:
            record = open_run(path / run)
        except RecordError:
            continue
        load = load_of(record)
        if not load.empty:
            return _measured(record, load, name, color)
    return None


def _measured(record: RunRecord, load: Load, name: str, color: int) -> _Side:
    """The closed measured phase alone, its time counted from its begin."""
    phase = closed_phase(record)
    keep = np.array([phase is None or one == phase.phase for one in load.phase])
    t_s, seconds = load.t_s[keep], load.seconds[keep]
    start = float(t_s[0] - seconds[0])
    end = float(t_s[-1])
    marks = [
        Mark(t_s=round(mark.t_s - start, 2), kind=mark.kind, color=color, label=f"{name}: {mark.label}")
        for mark in checkpoints(record)
        if start <= mark.t_s <= end
    ]
    return _Side(
        name, color, float(np.median(seconds)), t_s - start, load.tps[keep], load.response_ms["p99_us"][keep], marks
    )


def _charts(sides: list[_Side]) -> list[Chart]:
    step = max(1e-3, min(side.step_s for side in sides))
    steps = int(max(round(float(side.t_s[-1]) / step) for side in sides))
    grid: Floats = (np.arange(1, max(2, steps) + 1) * step).astype(np.float64)
    marks = [mark for side in sides for mark in side.marks]

    def spread(values: list[Floats]) -> list[Line]:
        columns = []
        for side, column in zip(sides, values, strict=True):
            on_grid = np.full(len(grid), np.nan)
            places = np.clip(np.round(side.t_s / step).astype(int) - 1, 0, len(grid) - 1)
            on_grid[places] = column
            columns.append(on_grid)
        thinned = thin(grid, columns)
        return [
            Line(
                label=side.name,
                color=side.color,
                values=thinned.mean[index],
                low=thinned.low[index] if thinned.low else [],
                high=thinned.high[index] if thinned.high else [],
                dash=False,
            )
            for index, side in enumerate(sides)
        ]

    x = thin(grid, []).t_s
    return [
        Chart(
            id="overlay-tps",
            group="overlay",
            title="Throughput",
            unit="tps",
            axis="transactions per second",
            x=x,
            lines=spread([side.tps for side in sides]),
            marks=marks,
            tall=True,
        ),
        Chart(
            id="overlay-p99",
            group="overlay",
            title="Response time, 99th percentile of each interval",
            unit="ms",
            axis="milliseconds",
            x=x,
            lines=spread([side.p99_ms for side in sides]),
            marks=marks,
            last=True,
        ),
    ]
