"""One screen as text: a pure function of what was seen, the size of the terminal and where the person looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.text import Text

from dbdyno.samples.series import Floats, SampleStore, Series
from dbdyno.stats.stalls import dips
from dbdyno.view.gauges import Gauge, gauges, top_waits, words

BARS = " ▁▂▃▄▅▆▇█"
TITLE_WIDTH, VALUE_WIDTH = 20, 11
WIDTH_MIN, HEIGHT_MIN = 40, 6
_CLEAN = str.maketrans({character: "?" for character in map(chr, [*range(32), *range(127, 160)])})


@dataclass(frozen=True)
class Look:
    """Where the person looks."""

    end_s: float
    """Right edge of the curves, seconds since the start."""
    span_s: float = 60.0
    paused: bool = False
    live: bool = True
    """Whether more is coming."""


@dataclass(frozen=True)
class Scene:
    """What there is to see."""

    title: str
    store: SampleStore
    intervals: Sequence[dict[str, Any]]
    doubts: Sequence[str]


def frame(scene: Scene, look: Look, width: int, height: int) -> Text:
    """The whole screen; exactly `height` lines, none wider than `width`."""
    if width < WIDTH_MIN or height < HEIGHT_MIN:
        return Text(f"at least {WIDTH_MIN} × {HEIGHT_MIN} characters are needed"[:width])
    found = gauges(scene.store, scene.intervals)
    stalls = _stalls(found, look)
    head = [_header(scene, look, width)]
    foot = [_waits(scene, look, width), *_notes(scene, stalls, width, 2 if height >= 16 else 1), _keys(look, width)]
    room = height - len(head) - len(foot)
    body = [_line(gauge, look, width, stalls if at == 0 else []) for at, gauge in enumerate(found[:room])]
    if not found:
        body = [Text("waiting for the first samples …"[:width], style="dim")]
    body += [Text("")] * (room - len(body))
    return Text("\n").join([*head, *body, *foot])


def _header(scene: Scene, look: Look, width: int) -> Text:
    state = "PAUSED" if look.paused else "live" if look.live else "replay"
    right = f" {_clock(look.end_s)}  last {_clock(look.span_s)}  {state} "
    left = clean(f" {scene.title}")[: max(0, width - len(right))]
    return Text(left.ljust(width - len(right)) + right, style="reverse")


def _clock(seconds: float) -> str:
    whole = max(0, int(seconds))
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"


def _line(gauge: Gauge, look: Look, width: int, stalls: Sequence[tuple[float, float]]) -> Text:
    columns = max(4, width - TITLE_WIDTH - VALUE_WIDTH - 3)
    cells = resample(gauge.series, look, columns)
    there = cells[np.isfinite(cells)]
    top = gauge.limit or (float(there.max()) if there.size else 0.0)
    last = there[-1] if there.size else float("nan")
    full = gauge.limit is not None and gauge.bad_high and np.isfinite(last) and last > 0.9 * gauge.limit
    text = Text(clean(gauge.title)[:TITLE_WIDTH].ljust(TITLE_WIDTH))
    text.append(words(float(last), gauge.series.unit)[:VALUE_WIDTH].rjust(VALUE_WIDTH), "bold red" if full else "bold")
    text.append("  ")
    step_s = look.span_s / columns
    for at, value in enumerate(cells):
        end_s = look.end_s - look.span_s + (at + 1) * step_s
        stalled = any(start - step_s < end_s <= end + step_s for start, end in stalls)
        text.append(bar(float(value), top), "red" if stalled else "magenta" if gauge.bad_high else "cyan")
    return text


def bar(value: float, top: float) -> str:
    """One character; a gap in the samples is a dot, which is no zero."""
    if not np.isfinite(value):
        return "·"
    if top <= 0 or value <= 0:
        return BARS[1] if value > 0 else "_"
    return BARS[max(1, min(len(BARS) - 1, round(value / top * (len(BARS) - 1))))]


def resample(series: Series, look: Look, columns: int) -> Floats:
    """Mean of each column's stretch of time; NaN where there is nothing. A gauge that is asked more rarely than there
    are columns keeps its last value for as long as its own period lasts."""
    start_s = look.end_s - look.span_s
    step_s = look.span_s / columns
    cells = np.full(columns, np.nan)
    inside = (series.t_s > start_s) & (series.t_s <= look.end_s) & np.isfinite(series.values)
    places = np.minimum(((series.t_s[inside] - start_s) / step_s).astype(int), columns - 1)
    for place in np.unique(places):
        cells[place] = series.values[inside][places == place].mean()
    period_s = float(np.median(np.diff(series.t_s))) if len(series.t_s) > 2 else 1.0
    hold = int(period_s * 1.5 / step_s)
    held = 0
    for at in range(1, columns):
        if np.isfinite(cells[at]):
            held = 0
        elif held < hold and np.isfinite(cells[at - 1]):
            cells[at] = cells[at - 1]
            held += 1
    return cells


def _stalls(found: Sequence[Gauge], look: Look) -> list[tuple[float, float]]:
    """Dips of the first gauge (the throughput) that can be seen."""
    if not found:
        return []
    series = found[0].series.between(0.0, look.end_s)
    all_dips = dips(series.t_s, series.values)
    start_s = look.end_s - look.span_s
    return [(one.start_s, one.end_s) for one in all_dips if not one.at_start and one.end_s >= start_s]


def _waits(scene: Scene, look: Look, width: int) -> Text:
    found = top_waits(scene.store, look.end_s)
    text = ", ".join(f"{clean(name)} {mean:.1f}" for name, mean in found) or "none seen"
    return Text(f"waits: {text}"[:width], style="dim" if not found else "")


def _notes(scene: Scene, stalls: Sequence[tuple[float, float]], width: int, room: int) -> list[Text]:
    lines = [
        Text(f"stall: {_clock(start)} to {_clock(end)}"[:width], style="bold red") for start, end in stalls[-room:]
    ]
    lines += [Text(clean(f"doubt: {one}")[:width], style="yellow") for one in scene.doubts]
    hidden = len(lines) - room
    if hidden > 0:
        more = f" (+{hidden} more)"
        shown = lines[room - 1].plain[: max(0, width - len(more))] + more
        lines[room - 1] = Text(shown[:width], style=lines[room - 1].style)
    return (lines + [Text("")] * room)[:room]


def _keys(look: Look, width: int) -> Text:
    keys = (
        "space pause  ←→ scroll  +- zoom  end live  q quit"
        if not look.paused
        else "space go on  ←→ scroll  +- zoom  q quit"
    )
    return Text(keys[:width], style="dim")


def clean(text: str) -> str:
    """Without control characters: what a server says must not steer the terminal."""
    return text.translate(_CLEAN)
