"""A sweep as curves: ratio to the first point over the values of the last axis, one curve for each combination of the
others. Values stand at equal distances, since most axes double from value to value."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from markupsafe import Markup

from dbdyno.model.experiment import Sweep
from dbdyno.model.record import Record
from dbdyno.model.trial import Comparison
from dbdyno.report import figures
from dbdyno.report.pictures import NARROW, Canvas, Scale, both, linear, symbol
from dbdyno.stats.paired import RATIO_MAX
from dbdyno.tune.sweep import name_of

_MARKS = ("dot", "square", "diamond", "triangle", "nabla", "ring")
_COLORS = 8


class GridPoint(Record, frozen=True, kw_only=True):
    at: int
    """Place of the value on the axis."""
    ratio: float
    low: float | None = None
    high: float | None = None


class GridCurve(Record, frozen=True, kw_only=True):
    label: str
    values: list[str]
    points: list[GridPoint]
    color: int
    mark: str


def curves(sweep: Sweep, comparisons: Sequence[Comparison]) -> list[GridCurve]:
    """The curves of a sweep; points that were not measured are missing in them."""
    over = {one.b: one for one in comparisons}
    last, first = sweep.axes[-1], name_of(sweep, tuple(axis.values[0] for axis in sweep.axes))
    found = []
    for index, others in enumerate(itertools.product(*(axis.values for axis in sweep.axes[:-1]))):
        points = []
        for at, value in enumerate(last.values):
            name = name_of(sweep, (*others, value))
            if name == first:
                points.append(GridPoint(at=at, ratio=1.0))
            elif one := over.get(name):
                bounded = one.low > 0 and one.high < RATIO_MAX
                points.append(
                    GridPoint(at=at, ratio=one.ratio, low=one.low if bounded else None,
                              high=one.high if bounded else None)
                )  # fmt: skip
        label = ", ".join(f"{axis.name} = {value}" for axis, value in zip(sweep.axes, others, strict=False))
        found.append(
            GridCurve(
                label=label or last.name,
                values=[str(value) for value in last.values],
                points=points,
                color=1 + index % (_COLORS - 1),
                mark=_MARKS[index % len(_MARKS)],
            )
        )
    return found


def draw(found: Sequence[GridCurve], axis: str) -> Markup:
    """Curves with whiskers; the reference line is the first point."""

    def one(width: float) -> Canvas:
        wide = width > NARROW
        height, left, right, top, bottom = 340.0 if wide else 280.0, 64.0 if wide else 46.0, 16.0, 18.0, 52.0
        canvas = Canvas(width, height, f"ratio to the first point over {axis}")
        values = found[0].values if found else []
        low, high = _ends([point for curve in found for point in curve.points])
        x = linear(-0.3, max(len(values) - 0.7, 0.3), left, width - right)
        y = linear(low, high, height - bottom, top)
        for tick in figures.ticks(low, high, 6):
            canvas.line(left, y(tick), width - right, y(tick), "ref" if tick == 1 else "grid")
            canvas.text(left - 8, y(tick) + 4, figures.tick_word(tick), "end")
        for at, value in enumerate(values):
            canvas.text(x(at), height - bottom + 20, value, "middle")
        canvas.text((left + width - right) / 2, height - 8, axis, "middle")
        for index, curve in enumerate(found):
            _curve(canvas, curve, x=x, y=y, ends=(low, high), shift=(index - (len(found) - 1) / 2) * 5)
        return canvas

    return both(one)


def _ends(points: Sequence[GridPoint]) -> tuple[float, float]:
    """The range that is drawn: all ratios, and their intervals as far as they leave the ratios to be told apart."""
    seen = [1.0, *(point.ratio for point in points)]
    room = max(max(seen) / min(seen), 1.25)
    low, high = min(seen) / room, max(seen) * room
    bounds = [end for point in points for end in (point.low, point.high) if end is not None]
    return max(min([*seen, *bounds]), low) * 0.94, min(max([*seen, *bounds]), high) * 1.06


def _curve(canvas: Canvas, curve: GridCurve, *, x: Scale, y: Scale, ends: tuple[float, float], shift: float) -> None:
    places = [(x(point.at) + shift, y(point.ratio), point) for point in curve.points]
    canvas.path([(across, up) for across, up, _ in places], f"line s{curve.color}", fill="none")
    for across, up, point in places:
        if point.low is not None and point.high is not None:
            canvas.line(across, y(max(point.low, ends[0])), across, y(min(point.high, ends[1])), f"thin s{curve.color}")
        tip = f"{curve.label}: {figures.ratio(point.ratio)}"
        symbol(canvas, curve.mark, (across, up), color=curve.color, tip=tip)
