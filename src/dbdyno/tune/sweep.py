"""A sweep: the grid of some settings' values, each point measured in every round, the rounds to and fro.

Ratios are taken within a round, so that what the machine does between rounds drops out. Crossover points name where
along one axis the better of two values of another axis changes, as one reads a table of page size by cache size.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from dbdyno.model.errors import UsageError
from dbdyno.model.experiment import Axis, Configuration, Crossover, ExperimentOutcome, Sweep
from dbdyno.model.knob import Value
from dbdyno.model.trial import Comparison, Trial, TrialKind, TrialStatus
from dbdyno.stats.paired import UNSHOWN
from dbdyno.tune.experiment import Arm, Experiment, merged, paired
from dbdyno.tune.rounds import next_slot, slots

POINTS_MAX = 400
OPTION = "option:"
"""Begins the name of an axis that is an option of the workload."""
_FACTORS = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def parse_axis(text: str) -> Axis:
    """`name=v1,v2,…`; numbers stay numbers. Raises `UsageError`."""
    name, equals, words = text.partition("=")
    name = name.strip()
    values = tuple(_value(word.strip()) for word in words.split(",") if word.strip())
    if not equals or not name or not values:
        raise UsageError(f"{text!r} is no axis of a sweep.", todo="write --knob name=value,value,…")
    if len(set(values)) != len(values):
        raise UsageError(f"The axis {name} has a value twice.", found=words)
    return Axis(name=name.removeprefix(OPTION), values=values, option=name.startswith(OPTION))


def _value(word: str) -> Value:
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


Point = tuple[Value, ...]


def points(sweep: Sweep, seed: int) -> list[Point]:
    """The points that are measured, in the grid's order. Raises `UsageError` when there are too many.

    With a fraction below 1, points are drawn so that each value of each axis occurs about equally often: the next one
    is always the one whose values were seen least so far, the seed breaks ties. The first point is always in it.
    """
    names = [axis.name for axis in sweep.axes]
    if len(set(names)) != len(names):
        raise UsageError("An axis of the sweep is given twice.", found=", ".join(names))
    grid = list(itertools.product(*(axis.values for axis in sweep.axes)))
    wanted = max(2, round(len(grid) * sweep.fraction)) if sweep.fraction < 1 else len(grid)
    if min(wanted, len(grid)) > POINTS_MAX:
        raise UsageError(
            f"The sweep has {len(grid)} points.", found=f"at most {POINTS_MAX} are measured", todo="give --fraction"
        )
    if wanted >= len(grid):
        return grid
    order = np.random.default_rng(seed).permutation(len(grid)).tolist()
    chosen, seen = [0], {(axis, value): 1 for axis, value in enumerate(grid[0])}
    while len(chosen) < wanted:
        left = [at for at in order if at not in chosen]
        best = min(left, key=lambda at: sum(seen.get(pair, 0) for pair in enumerate(grid[at])))
        chosen.append(best)
        for pair in enumerate(grid[best]):
            seen[pair] = seen.get(pair, 0) + 1
    return [grid[at] for at in sorted(chosen)]


def name_of(sweep: Sweep, point: Point) -> str:
    return ",".join(f"{axis.name}={value}" for axis, value in zip(sweep.axes, point, strict=True)).replace("/", "_")


def arm_of(sweep: Sweep, point: Point) -> Arm:
    settings = {axis.name: value for axis, value in zip(sweep.axes, point, strict=True) if not axis.option}
    options = {axis.name: value for axis, value in zip(sweep.axes, point, strict=True) if axis.option}
    return Arm(name_of(sweep, point), merged(sweep.base, Configuration(settings=settings, options=options)))


@dataclass
class SweepRun:
    """Measures a grid; see `Experiment` for what it stands on."""

    experiment: Experiment
    sweep: Sweep
    repeats: int
    seed: int
    outcome: ExperimentOutcome = field(default_factory=lambda: ExperimentOutcome(status="running"))

    def run(self) -> ExperimentOutcome:
        status = "failed"
        try:
            self._measure_all()
            status = "done"
        except KeyboardInterrupt:
            status = "interrupted"
            raise
        finally:
            self._evaluate(status)
        return self.outcome

    def _measure_all(self) -> None:
        arms = {arm.name: arm for arm in self._arms()}
        order = list(arms)
        runs = [name for turn in range(self.repeats) for name in (order if turn % 2 == 0 else order[::-1])]
        while (name := next_slot(self.experiment.trials, runs, TrialKind.POINT)) is not None:
            self.experiment.measure(arms[name], TrialKind.POINT)
            if len(self.experiment.trials) % len(order) == 0:
                self._evaluate("running")

    def _arms(self) -> list[Arm]:
        return [arm_of(self.sweep, point) for point in points(self.sweep, self.seed)]

    def _rounds(self) -> list[dict[str, Trial]]:
        count = len(self._arms())
        filled = slots(self.experiment.trials, TrialKind.POINT)[: count * self.repeats]
        return [
            {trial.name: trial for trial in filled[at : at + count] if trial.status is not TrialStatus.FAILED}
            for at in range(0, len(filled), count)
        ]

    def _evaluate(self, status: str) -> None:
        rounds, found = self._rounds(), points(self.sweep, self.seed)
        base = name_of(self.sweep, found[0])

        def over(a: str, b: str) -> Comparison | None:
            both = [(turn[a], turn[b]) for turn in rounds if a in turn and b in turn]
            return paired(both, (a, b), self.seed)

        names = [name_of(self.sweep, point) for point in found[1:]]
        self.outcome = msgspec.structs.replace(
            self.outcome,
            status=status,
            arms=tuple(self.experiment.result(arm, TrialKind.POINT) for arm in self._arms()),
            comparisons=tuple(one for name in names if (one := over(base, name)) is not None),
            crossovers=tuple(crossovers(self.sweep, found, over)),
        )
        self.experiment.write(self.outcome)


Over = Callable[[str, str], Comparison | None]
"""Compares two points by name, the second over the first; None when they were not both measured."""


def crossovers(sweep: Sweep, found: Sequence[Point], over: Over) -> Iterator[Crossover]:
    """Where the better of two neighbouring values of one axis changes along another."""
    measured = {name_of(sweep, point) for point in found}
    for axis, along in itertools.permutations(sweep.axes, 2):
        others = [one for one in sweep.axes if one not in (axis, along)]
        for values in itertools.product(*(one.values for one in others)):
            where = dict(zip([one.name for one in others], values, strict=True))
            for a, b in itertools.pairwise(axis.values):
                ratios: list[tuple[Value, Comparison]] = []
                for value in along.values:
                    names = [_name(sweep, {**where, axis.name: one, along.name: value}) for one in (a, b)]
                    if measured.issuperset(names) and (one := over(names[0], names[1])) is not None:
                        ratios.append((value, one))
                yield from _changes(axis, (a, b), along, where, ratios)


def _name(sweep: Sweep, values: Mapping[str, Value]) -> str:
    return name_of(sweep, tuple(values[axis.name] for axis in sweep.axes))


def _changes(
    axis: Axis, pair: tuple[Value, Value], along: Axis, where: dict[str, Value], ratios: list[tuple[Value, Comparison]]
) -> Iterator[Crossover]:
    for (low, first), (high, second) in itertools.pairwise(ratios):
        if (first.ratio - 1.0) * (second.ratio - 1.0) >= 0:
            continue
        below, above = pair if first.ratio < 1 else pair[::-1]
        yield Crossover(
            of=axis.name, a=str(below), b=str(above), along=along.name, low=str(low), high=str(high),
            at=_between(low, high, math.log(first.ratio), math.log(second.ratio)), where=where,
            shown=UNSHOWN not in (first.verdict, second.verdict),
        )  # fmt: skip


def quantity(value: Value) -> float | None:
    """A value as a number; `512M` and its like are multiples of 1024. None for other words."""
    if isinstance(value, int | float):
        return float(value)
    text = value.strip().lower().removesuffix("b").removesuffix("i")
    factor = _FACTORS.get(text[-1:], 1)
    try:
        return float(text[:-1] if text[-1:] in _FACTORS else text) * factor
    except ValueError:
        return None


def _between(low: Value, high: Value, first: float, second: float) -> float | None:
    """Zero of the straight line through the two log ratios, over the logarithm of the axis where that exists."""
    a, b = quantity(low), quantity(high)
    if a is None or b is None:
        return None
    part = first / (first - second)
    if a > 0 and b > 0:
        return math.exp(math.log(a) + part * (math.log(b) - math.log(a)))
    return a + part * (b - a)
