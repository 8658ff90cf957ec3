"""Small drawings as inline SVG: trials, pairs, effects with intervals, latency by percentile.

Each is drawn twice, for a wide and for a narrow page, since text inside a scaled picture would become unreadable.
Shapes differ as well as colours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from markupsafe import Markup, escape

from dbdyno.report import figures
from dbdyno.report.shapes import Distribution, Effect, Pairs, TrialRow
from dbdyno.stats.paired import RATIO_MAX

WIDE, NARROW = 1060.0, 352.0
CLIP = 2.5
Scale = Callable[[float], float]


class Canvas:
    """Collects elements; attribute values and texts are escaped here and nowhere else."""

    def __init__(self, width: float, height: float, label: str) -> None:
        self.width, self.height, self.label = width, height, label
        self.parts: list[Markup] = []

    def add(self, tag: str, **attributes: object) -> None:
        """An element; the attribute `words` is its text."""
        text = attributes.pop("words", None)
        written = Markup("").join(
            Markup(' {}="{}"').format(name.rstrip("_").replace("_", "-"), _short(value))
            for name, value in attributes.items()
            if value is not None
        )
        name = Markup(tag)
        if text is None:
            self.parts.append(Markup("<{}{}/>").format(name, written))
        else:
            self.parts.append(Markup("<{}{}>{}</{}>").format(name, written, text, name))

    def text(self, x: float, y: float, words: str, anchor: str = "start", klass: str = "", **more: object) -> None:
        self.add("text", words=words, x=x, y=y, text_anchor=anchor, class_=klass or None, **more)

    def line(self, x1: float, y1: float, x2: float, y2: float, klass: str) -> None:
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=klass)

    def path(self, points: Iterable[tuple[float, float]], klass: str, **more: object) -> None:
        drawn = " ".join(f"{'M' if index == 0 else 'L'}{x:.1f} {y:.1f}" for index, (x, y) in enumerate(points))
        self.add("path", d=drawn, class_=klass, **more)

    def svg(self, klass: str) -> Markup:
        body = Markup("").join(self.parts)
        return Markup('<svg class="pic {}" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
            klass, _short(self.width), _short(self.height), self.label, body
        )


def _short(value: object) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(escape(str(value)).unescape())


def both(draw: Callable[[float], Canvas]) -> Markup:
    return draw(WIDE).svg("wide") + draw(NARROW).svg("narrow")


def linear(low: float, high: float, start: float, end: float) -> Scale:
    span = (high - low) or 1.0
    return lambda value: start + (value - low) / span * (end - start)


def symbol(
    canvas: Canvas, kind: str, at: tuple[float, float], *, color: int, tip: str | None = None, size: float = 5.0
) -> None:
    """A mark by its meaning: dot, ring (doubted), diamond (anchor), square (baseline), cross (failed), triangle."""
    x, y = at
    more: dict[str, object] = {"data_tip": tip} if tip else {}
    match kind:
        case "ring":
            canvas.add("circle", cx=x, cy=y, r=size, class_=f"dot open s{color}", stroke_dasharray="2.5 2", **more)
        case "circle":
            canvas.add("circle", cx=x, cy=y, r=size, class_=f"dot open s{color}", **more)
        case "nabla":
            s = size + 1
            canvas.add("path", d=f"M{x:.1f} {y + s:.1f}l{-s} {-2 * s}h{2 * s}z", class_=f"dot f{color}", **more)
        case "bar":
            s = size
            canvas.add("rect", x=x - s, y=y - 2, width=2 * s, height=4, rx=1, class_=f"dot f{color}", **more)
        case "diamond":
            s = size + 1.6
            path = f"M{x:.1f} {y - s:.1f}l{s} {s}l{-s} {s}l{-s} {-s}z"
            canvas.add("path", d=path, class_=f"dot open s{color}", **more)
        case "square":
            s = size + 0.4
            canvas.add("rect", x=x - s, y=y - s, width=2 * s, height=2 * s, rx=1, class_=f"dot f{color}", **more)
        case "cross":
            s = size
            path = f"M{x - s:.1f} {y - s:.1f}l{2 * s} {2 * s}m0 {-2 * s}l{-2 * s} {2 * s}"
            canvas.add("path", d=path, class_=f"dot line s{color}", **more)
        case "triangle":
            s = size + 1
            canvas.add("path", d=f"M{x:.1f} {y - s:.1f}l{s} {2 * s}h{-2 * s}z", class_=f"dot f{color}", **more)
        case _:
            canvas.add("circle", cx=x, cy=y, r=size, class_=f"dot f{color}", **more)


def key(kind: str, color: int) -> Markup:
    """A mark for a legend."""
    canvas = Canvas(16, 16, "")
    if kind == "line":
        canvas.path([(1, 8), (15, 8)], f"line s{color}")
    elif kind == "dash":
        canvas.path([(1, 8), (15, 8)], f"line s{color}", stroke_dasharray="4 3")
    else:
        symbol(canvas, kind, (8, 8), color=color)
    body = Markup("").join(canvas.parts)
    return Markup('<svg viewBox="0 0 16 16" aria-hidden="true">{}</svg>').format(body)


def trial_mark(row: TrialRow) -> str:
    if row.status == "failed":
        return "cross"
    if row.status == "doubted":
        return "ring"
    if row.status == "rejected":
        return "circle"
    marks = {"anchor": "diamond", "baseline": "square", "confirm": "triangle", "repeat": "nabla", "ablation": "bar"}
    return marks.get(row.kind, "dot")


def trials(rows: Sequence[TrialRow]) -> Markup:
    """Score over trial number, best so far as a staircase, failures on a line of their own."""

    def draw(width: float) -> Canvas:
        wide = width > 600
        height, left, right, top, bottom = (360.0 if wide else 300.0), (64.0 if wide else 46.0), 12.0, 28.0, 66.0
        canvas = Canvas(width, height, f"Charged throughput of {len(rows)} trials over their number")
        known = [row.score for row in rows if row.score is not None]
        low, high = (min(known), max(known)) if known else (0.0, 1.0)
        room = (high - low) * 0.08 or high * 0.1 or 1.0
        y = linear(max(0.0, low - room), high + room, height - bottom, top)
        first, last = rows[0].number, max(rows[-1].number, rows[0].number + 1)
        x = linear(first, last, left + 10, width - right - 10)
        _grid(canvas, y, (max(0.0, low - room), high + room), left, width - right)
        failed_y = height - bottom + 20
        canvas.line(left, height - bottom, width - right, height - bottom, "axis")
        _numbers(canvas, x, (first, last), height - bottom + 42, count=12 if wide else 6)
        canvas.text(left - 8, failed_y + 4, "failed", "end", "small")
        canvas.text((left + width - right) / 2, height - 4, "trial number", "middle")
        canvas.text(left - (52 if wide else 42), 11, "charged tps", "start", "small")
        steps: list[tuple[float, float]] = []
        for row in rows:
            if row.best is not None:
                if steps:
                    steps.append((x(row.number), steps[-1][1]))
                steps.append((x(row.number), y(row.best)))
        if len(steps) > 1:
            canvas.path(steps, "line s1", opacity="0.75")
        for row in rows:
            at = failed_y if row.score is None else y(row.score)
            mark = trial_mark(row)
            color = 6 if mark == "cross" else row.color
            symbol(canvas, mark, (x(row.number), at), color=color, tip=row.says, size=5.0 if wide else 3.6)
        return canvas

    return both(draw)


def _grid(canvas: Canvas, y: Scale, ends: tuple[float, float], left: float, right: float) -> None:
    for tick in figures.ticks(*ends, 5):
        canvas.line(left, y(tick), right, y(tick), "grid")
        canvas.text(left - 8, y(tick) + 4, figures.tick_word(tick), "end")


def _numbers(canvas: Canvas, x: Scale, ends: tuple[float, float], at: float, *, count: int) -> None:
    for tick in figures.ticks(*ends, count):
        if float(tick).is_integer():
            canvas.text(x(tick), at, figures.grouped(int(tick)), "middle")


def bounded(one: Effect) -> bool:
    """Whether the interval has two ends that can be drawn; a single pair has none."""
    return one.low is not None and one.high is not None and one.low > 0 and one.high < RATIO_MAX


def _ratio_ends(effects: Sequence[Effect]) -> tuple[float, float]:
    """Ends of the axis: all ratios, and the intervals as far as a factor of `CLIP` beyond the ratios. Two pairs that
    disagree have an interval over many powers of ten, beside which nothing else could be read."""
    seen = [1.0, *(max(1e-6, each) for one in effects for each in (one.ratio, *one.ratios))]
    low, high = min(seen), max(seen)
    for one in effects:
        if bounded(one) and one.low is not None and one.high is not None:
            low, high = min(low, max(one.low, min(seen) / CLIP)), max(high, min(one.high, max(seen) * CLIP))
    room = max((math.log(high) - math.log(low)) * 0.06, 0.01)
    return math.exp(math.log(low) - room), math.exp(math.log(high) + room)


def _ratio_ticks(low: float, high: float, count: int) -> list[float]:
    """Even steps for a short axis, 1 2 5 for a long one."""
    if high / low < 6:
        return figures.ticks(low, high, count)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if high / low < 300 else (1,)
    return [factor * 10.0**power for power in powers for factor in factors if low <= factor * 10.0**power <= high]


def _span(one: Effect, x: Scale, ends: tuple[float, float]) -> tuple[float, float, list[float]] | None:
    """Drawn ends of an interval, and which of them are its own; the others lie beyond the axis."""
    if not bounded(one) or one.low is None or one.high is None:
        return None
    low, high = max(one.low, ends[0]), min(one.high, ends[1])
    own = [x(math.log(edge)) for edge, drawn in ((one.low, low), (one.high, high)) if edge == drawn]
    return x(math.log(low)), x(math.log(high)), own


def _ratio_axis(canvas: Canvas, x: Scale, ends: tuple[float, float], top: float, bottom: float, *, count: int) -> None:
    for tick in _ratio_ticks(*ends, count):
        if tick > 0:
            canvas.line(x(math.log(tick)), top, x(math.log(tick)), bottom, "ref" if tick == 1 else "grid")
            canvas.text(x(math.log(tick)), bottom + 17, figures.tick_word(tick), "middle")
    canvas.line(x(0.0), top - 4, x(0.0), bottom, "ref")


def forest(effects: Sequence[Effect], axis: str) -> Markup:
    """One row an effect: dots are pairs, the bar is the interval, the diamond the geometric mean."""

    def draw(width: float) -> Canvas:
        wide = width > 600
        row_height, top, bottom = (50.0 if wide else 66.0), 26.0, 44.0
        left, right = (320.0, 158.0) if wide else (6.0, 6.0)
        height = top + row_height * len(effects) + bottom
        canvas = Canvas(width, height, axis + ": " + "; ".join(_effect_words(one) for one in effects))
        low, high = _ratio_ends(effects)
        x = linear(math.log(low), math.log(high), left + 10, width - right - 10)
        _ratio_axis(canvas, x, (low, high), top - 6, height - bottom, count=8 if wide else 4)
        canvas.text((left + width - right) / 2, height - 6, axis, "middle")
        canvas.text(x(0.0), top - 12, "no difference", "middle", "small")
        for index, one in enumerate(effects):
            middle = top + row_height * (index + (0.5 if wide else 0.72))
            label_y = middle + 4 if wide else middle - 19
            canvas.text(0, label_y - (8 if wide else 0), one.label, "start", "strong")
            value = f"{figures.ratio(one.ratio)}"
            if wide:
                canvas.text(0, label_y + 9, one.figure, "start", "small")
                canvas.text(width, label_y - 8, value, "end", "strong")
                canvas.text(width, label_y + 9, interval_words(one), "end", "small")
            else:
                canvas.text(width, label_y, value, "end", "strong")
            _interval(canvas, x, one, (low, high), middle)
        return canvas

    return both(draw)


def _interval(canvas: Canvas, x: Scale, one: Effect, ends: tuple[float, float], middle: float) -> None:
    if (span := _span(one, x, ends)) is not None:
        start, end, own = span
        canvas.add(
            "rect", x=start, y=middle - 8, width=max(2.0, end - start), height=16, rx=3, class_=f"band f{one.color}"
        )
        for edge in own:
            canvas.line(edge, middle - 8, edge, middle + 8, f"thin s{one.color}")
    for index, ratio in enumerate(one.ratios):
        tip = f"pair {index + 1}: {figures.ratio(ratio)}"
        canvas.add(
            "circle",
            cx=x(math.log(max(ratio, 1e-6))),
            cy=middle + (-5, 5, 0)[index % 3],
            r=4.2,
            class_=f"dot open s{one.color}",
            data_tip=tip,
        )
    at = x(math.log(max(one.ratio, 1e-6)))
    canvas.add("path", d=f"M{at:.1f} {middle - 8:.1f}l5.5 8l-5.5 8l-5.5 -8z", class_=f"f{one.color}")


def interval_words(one: Effect) -> str:
    if one.low is None or one.high is None:
        return "one measurement"
    return figures.interval(one.low, one.high)


def _effect_words(one: Effect) -> str:
    return f"{one.label} {one.figure} {figures.ratio(one.ratio)} ({interval_words(one)})"


def contributions(effects: Sequence[Effect]) -> Markup:
    """Bars from 1 with intervals: what the winner loses without each line."""

    def draw(width: float) -> Canvas:
        wide = width > 600
        row_height, top, bottom = (34.0 if wide else 48.0), 8.0, 44.0
        left, right = (270.0, 158.0) if wide else (6.0, 6.0)
        height = top + row_height * len(effects) + bottom
        canvas = Canvas(width, height, "Contribution of each line: " + "; ".join(_effect_words(one) for one in effects))
        low, high = _ratio_ends(effects)
        x = linear(math.log(low), math.log(high), left + 10, width - right - 10)
        _ratio_axis(canvas, x, (low, high), top, height - bottom, count=8 if wide else 4)
        words = "throughput of the winner over the winner without this line (1 = no effect)"
        canvas.text(
            (left + width - right) / 2, height - 6, words if wide else "winner over winner without the line", "middle"
        )
        for index, one in enumerate(effects):
            middle = top + row_height * (index + (0.5 if wide else 0.72))
            start, end = sorted((x(0.0), x(math.log(max(one.ratio, 1e-6)))))
            color = one.color
            canvas.add(
                "rect",
                x=start,
                y=middle - 7,
                width=max(1.5, end - start),
                height=14,
                rx=2,
                class_=f"f{color}",
                opacity="0.75",
            )
            if (span := _span(one, x, (low, high))) is not None:
                a, b, own = span
                canvas.add(
                    "path",
                    d=f"M{a:.1f} {middle:.1f}H{b:.1f}" + "".join(f"M{edge:.1f} {middle - 4:.1f}v8" for edge in own),
                    stroke="currentColor",
                    fill="none",
                    stroke_width="1.4",
                )
            label_y = middle + 4 if wide else middle - 13
            canvas.text(0, label_y, one.label, "start", "strong")
            words = f"{figures.ratio(one.ratio)}  ({interval_words(one)})" if wide else figures.ratio(one.ratio)
            canvas.text(width, label_y, words, "end")
        return canvas

    return both(draw)


def slopes(groups: Sequence[Pairs]) -> Markup:
    """Each line is one interleaved pair: charged throughput of the other arm left, of the winner right."""

    def draw(width: float) -> Canvas:
        wide = width > 600
        height, top, bottom = 280.0, 30.0, 40.0
        canvas = Canvas(width, height, "Charged throughput of both arms in each interleaved pair")
        seen = [value for group in groups for pair in group.pairs for value in (pair.a, pair.b)]
        low, high = min([0.0, *seen]), max(seen) * 1.06
        y = linear(low, high, height - bottom, top)
        left = 64.0 if wide else 46.0
        _grid(canvas, y, (low, high), left, width)
        canvas.text(left - (52 if wide else 42), 10, "charged tps", "start", "small")
        step = (width - left) / len(groups)
        for index, group in enumerate(groups):
            inset = min(step * 0.24, 130.0)
            start, end = left + step * index + inset, left + step * (index + 1) - inset
            for number, pair in enumerate(group.pairs):
                canvas.line(start, y(pair.a), end, y(pair.b), f"s{group.color} thin")
                tip = f"pair {number + 1}: {figures.number(pair.a)} → {figures.number(pair.b)} tps"
                symbol(canvas, "dot", (start, y(pair.a)), color=group.color, tip=tip, size=4.4)
                symbol(canvas, "triangle", (end, y(pair.b)), color=1, tip=tip, size=4.0)
            canvas.text(start, height - bottom + 20, group.a, "middle", "strong")
            canvas.text(end, height - bottom + 20, group.b, "middle", "strong")
        return canvas

    return both(draw)


def percentiles(one: Distribution) -> Markup:
    """Latency over percentile, the tail spread out: the scale is the number of nines."""
    places = [(50.0, "50"), (90.0, "90"), (99.0, "99"), (99.9, "99.9"), (99.99, "99.99"), (99.999, "99.999")]

    def nines(percentile: float) -> float:
        return -math.log10(max(1e-7, 1 - percentile / 100))

    def draw(width: float) -> Canvas:
        wide = width > 600
        height, left, right, top, bottom = 310.0, (72.0 if wide else 52.0), 14.0, 30.0, 44.0
        canvas = Canvas(width, height, f"Latency by percentile in phase {one.phase}")
        values = [ms for curve in one.curves for _, ms in curve.points if ms > 0]
        last = max(percentile for curve in one.curves for percentile, _ in curve.points)
        curves_low = min(percentile for curve in one.curves for percentile, _ in curve.points)
        low, high = math.floor(math.log10(min(values)) * 3) / 3, math.ceil(math.log10(max(values)) * 3) / 3
        y = linear(low, max(high, low + 0.4), height - bottom, top)
        x = linear(nines(curves_low), max(1.0, nines(last)), left, width - right)
        for power in range(math.floor(low), math.ceil(high) + 1):
            for factor in (1, 2, 5):
                at = math.log10(factor) + power
                if low <= at <= high + 1e-9:
                    canvas.line(left, y(at), width - right, y(at), "grid")
                    canvas.text(left - 8, y(at) + 4, figures.tick_word(factor * 10.0**power), "end")
        for percentile, words in places:
            if percentile <= last:
                canvas.line(x(nines(percentile)), top, x(nines(percentile)), height - bottom, "grid")
                canvas.text(x(nines(percentile)), height - bottom + 17, words, "middle")
        canvas.text(left - (60 if wide else 46), 10, "ms (log scale)", "start", "small")
        canvas.text((left + width - right) / 2, height - 6, "percentile of successful transactions", "middle")
        for curve in one.curves:
            drawn = [(x(nines(percentile)), y(math.log10(ms))) for percentile, ms in curve.points if ms > 0]
            canvas.path(drawn, f"line s{curve.color}", stroke_dasharray="6 4" if curve.dash else None)
        return canvas

    return both(draw)
