"""Assignments as rows of numbers for a surrogate model.

Each knob becomes a numeric column in [0, 1] (in the logarithm where the knob says so), a column of category codes, or
both: a knob with special values has a category column for its mode and a numeric column that means something only when
the mode is numeric. A number that means nothing stands at one half, so that all assignments that the server cannot
tell apart are the same row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdyno.model.knob import Assignment, Knob
from dbdyno.tune.space import NUMERIC, assignment_of, bounds, mode_name, options, parameters

Rows = NDArray[np.float64]
_INACTIVE = 0.5
_STEP_SEEN = 0.002
"""Share of the range below which it does not matter to a model that a number is whole."""


@dataclass(frozen=True)
class Column:
    name: str
    """Of the parameter."""
    knob: Knob
    categories: tuple[str, ...] = ()
    """Empty for a number."""
    mode: int = -1
    """Index of the column that decides whether this number means anything; -1: it always does."""
    numeric_code: int = -1
    """The mode's code for a number."""


class Cube:
    """Encodes and decodes assignments of these knobs."""

    def __init__(self, knobs: Sequence[Knob]) -> None:
        self.knobs = tuple(knobs)
        columns: list[Column] = []
        for knob in self.knobs:
            words = options(knob)
            if knob.choices:
                columns.append(Column(knob.name, knob, words))
            elif words:
                columns.append(Column(mode_name(knob), knob, words))
                columns.append(Column(knob.name, knob, (), len(columns) - 1, words.index(NUMERIC)))
            else:
                columns.append(Column(knob.name, knob))
        self.columns = tuple(columns)
        self.categorical = np.array([bool(column.categories) for column in columns])
        self.sizes = np.array([len(column.categories) for column in columns])
        self.steps = np.array([self._step(column) for column in columns])

    @property
    def width(self) -> int:
        return len(self.columns)

    def encode(self, assignments: Sequence[Assignment]) -> Rows:
        """One row for each. Knobs that are not named stand at their default; numbers outside the range at its end."""
        rows = np.full((len(assignments), self.width), _INACTIVE)
        for row, assignment in zip(rows, assignments, strict=True):
            params = parameters(assignment, self.knobs)
            for at, column in enumerate(self.columns):
                if column.categories:
                    row[at] = column.categories.index(params[column.name])
                elif column.name in params:
                    row[at] = _to_unit(column.knob, float(params[column.name]))
        return rows

    def decode(self, row: Rows) -> Assignment:
        """The assignment that a row stands for; whole numbers where the knob is whole."""
        params: dict[str, str | int | float] = {}
        for at, column in enumerate(self.columns):
            if column.categories:
                params[column.name] = column.categories[round(float(row[at]))]
            else:
                params[column.name] = _from_unit(column.knob, float(row[at]))
        return assignment_of(params, self.knobs)

    def settled(self, rows: Rows) -> Rows:
        """Rows as the server would see them: whole numbers rounded, numbers without meaning at one half."""
        done = rows.copy()
        numeric = ~self.categorical
        done[:, numeric] = np.clip(done[:, numeric], 0.0, 1.0)
        for at, column in enumerate(self.columns):
            if column.categories:
                continue
            if self.steps[at] > _STEP_SEEN:
                done[:, at] = _on_steps(column.knob, done[:, at])
            if column.mode >= 0:
                done[done[:, column.mode] != column.numeric_code, at] = _INACTIVE
        return done

    def from_unit_cube(self, unit: Rows) -> Rows:
        """Points of the unit cube (a design, random draws) as rows: equal shares for the categories of a column."""
        rows = unit.copy()
        for at in np.flatnonzero(self.categorical):
            rows[:, at] = np.minimum(np.floor(unit[:, at] * self.sizes[at]), self.sizes[at] - 1)
        return self.settled(rows)

    @staticmethod
    def _step(column: Column) -> float:
        """Largest distance between two neighbouring whole numbers in the unit interval; 0 for real numbers."""
        knob = column.knob
        if column.categories or not knob.integer:
            return 0.0
        low, _ = bounds(knob)
        return _to_unit(knob, low + 1) - _to_unit(knob, low)


def _ends(knob: Knob) -> tuple[float, float]:
    """Ends of the unit interval: half a step beyond the range of whole numbers, so that each has an equal share."""
    low, high = bounds(knob)
    if knob.integer:
        low, high = low - 0.5, high + 0.5
    return (math.log(low), math.log(high)) if knob.log else (low, high)


def _on_steps(knob: Knob, unit: Rows) -> Rows:
    """Places of the nearest whole numbers; `_from_unit` and `_to_unit` for a whole column at once."""
    low, high = _ends(knob)
    place = low + unit * (high - low)
    value = np.clip(np.round(np.exp(place) if knob.log else place), *bounds(knob))
    snapped: Rows = ((np.log(value) if knob.log else value) - low) / (high - low)
    return snapped


def _to_unit(knob: Knob, value: float) -> float:
    low, high = _ends(knob)
    if high <= low:
        return _INACTIVE
    place = math.log(value) if knob.log else value
    return min(max((place - low) / (high - low), 0.0), 1.0)


def _from_unit(knob: Knob, unit: float) -> float:
    low, high = _ends(knob)
    place = low + min(max(unit, 0.0), 1.0) * (high - low)
    value = math.exp(place) if knob.log else place
    floor, ceiling = bounds(knob)
    value = min(max(round(value) if knob.integer else value, floor), ceiling)
    return int(value) if knob.integer else value
