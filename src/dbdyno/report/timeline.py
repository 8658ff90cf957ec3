"""The annotated timeline: throughput with its stalls, the causes named on them, and what happened meanwhile.

Drawn as SVG without any script, so that it stands on paper and in a mail as well.
"""

from __future__ import annotations

from pathlib import Path

import dbdyno
from dbdyno.explain.diagnose import Ranked
from dbdyno.explain.explain import Explanation, explain_run
from dbdyno.model.finding import Severity
from dbdyno.model.recording import Stall
from dbdyno.report import html
from dbdyno.report.explained import evidence_words, fix_words, headline, stall_words
from dbdyno.report.shapes import Band, Cause, Explained, Label, Tick

WIDTH, HEIGHT = 1000.0, 190.0
_EVENTS_Y, _EVENT_KINDS_MAX = HEIGHT + 14.0, 6
_EVENTS_SHOWN = 200
_TICKS = 6


def explained_run(folder: Path) -> Explained:
    """The view of a run folder. Raises `RecordError` when it is not one."""
    return explained(explain_run(folder))


def explained(explanation: Explanation) -> Explained:
    """The view; a pure function of the explanation."""
    start_s, end_s = _span(explanation)
    curve, area, top = _curve(explanation, start_s, end_s)
    ticks, kinds = _ticks(explanation, start_s, end_s)
    return Explained(
        title=f"Explanation of {explanation.name}",
        says=headline(explanation),
        curve=curve,
        area=area,
        bands=[_band(number, stall, explanation, start_s, end_s) for number, stall in enumerate(explanation.stalls)],
        ticks=ticks,
        kinds=kinds,
        axis=_axis(start_s, end_s),
        top=f"{top:,.0f}/s" if curve else "",
        height=_EVENTS_Y + 16.0 * len(kinds),
        stalls=[stall_words(stall) for stall in explanation.stalls],
        causes=[_cause(number, one) for number, one in enumerate(explanation.findings, start=1)],
        notes=list(explanation.notes),
    )


def explanation_page(explanation: Explanation) -> str:
    """One self-contained HTML page."""
    return html.render("explanation.html", view=explained(explanation), charts=[], version=dbdyno.__version__)


def _span(explanation: Explanation) -> tuple[float, float]:
    times = [*explanation.curve_t_s, *(stall.start_s for stall in explanation.stalls)]
    start_s = min(0.0, *times) if times else 0.0
    return start_s, max(explanation.duration_s, start_s + 1.0, *(stall.end_s for stall in explanation.stalls))


def _x(t_s: float, start_s: float, end_s: float) -> float:
    return round(WIDTH * min(1.0, max(0.0, (t_s - start_s) / (end_s - start_s))), 2)


def _curve(explanation: Explanation, start_s: float, end_s: float) -> tuple[str, str, float]:
    """Line and area of the throughput, broken where it is not known."""
    known = [value for value in explanation.curve_per_s if value is not None]
    top = max(known, default=0.0)
    if top <= 0:
        return "", "", 0.0
    line: list[str] = []
    area: list[str] = []
    run: list[tuple[float, float]] = []
    for t_s, value in [*zip(explanation.curve_t_s, explanation.curve_per_s, strict=True), (end_s, None)]:
        if value is not None:
            run.append((_x(t_s, start_s, end_s), round(HEIGHT - (HEIGHT - 12) * value / top, 2)))
            continue
        if run:
            points = "L".join(f"{x} {y}" for x, y in run)
            line.append(f"M{points}")
            area.append(f"M{run[0][0]} {HEIGHT}L{points}L{run[-1][0]} {HEIGHT}Z")
        run = []
    return "".join(line), "".join(area), top


def _band(number: int, stall: Stall, explanation: Explanation, start_s: float, end_s: float) -> Band:
    label = next((str(place) for place, one in enumerate(explanation.findings, 1) if _names(one, number)), "?")
    x = _x(stall.start_s, start_s, end_s)
    return Band(x=x, width=max(2.0, _x(stall.end_s, start_s, end_s) - x), label=label, says=stall_words(stall))


def _names(one: Ranked, number: int) -> bool:
    return number in one.stalls and one.finding.severity != Severity.ADVICE


def _ticks(explanation: Explanation, start_s: float, end_s: float) -> tuple[list[Tick], list[Label]]:
    kinds = sorted({event.kind for event in explanation.events})[:_EVENT_KINDS_MAX]
    ticks = []
    for event in explanation.events[:_EVENTS_SHOWN]:
        if event.kind in kinds:
            x = _x(event.t_s, start_s, end_s)
            width = max(2.0, _x(event.end_s if event.end_s is not None else event.t_s, start_s, end_s) - x)
            y = _EVENTS_Y + 16.0 * kinds.index(event.kind)
            ticks.append(Tick(x=x, width=width, y=y, says=f"{event.t_s:.0f} s: {event.says or event.kind}"))
    labels = [
        Label(x=WIDTH + 6, y=_EVENTS_Y + 16.0 * place + 9, text=kind.replace("_", " "))
        for place, kind in enumerate(kinds)
    ]
    return ticks, labels


def _axis(start_s: float, end_s: float) -> list[Label]:
    step = (end_s - start_s) / _TICKS
    return [
        Label(x=_x(start_s + place * step, start_s, end_s), y=HEIGHT + 11, text=f"{start_s + place * step:.0f} s")
        for place in range(_TICKS + 1)
    ]


def _cause(number: int, one: Ranked) -> Cause:
    finding = one.finding
    keeps = f" Keeps {finding.durability.name}." if finding.durability is not None else ""
    stalls = f", explains {len(one.stalls)} stall{'s' if len(one.stalls) != 1 else ''}" if one.stalls else ""
    return Cause(
        number=number,
        title=finding.title,
        rule=finding.rule,
        grave=finding.severity != Severity.ADVICE,
        sure=f"{finding.severity}, confidence {finding.confidence:.0%}{stalls}",
        says=f"{finding.says} {finding.why}".strip(),
        evidence=evidence_words(finding),
        remedy=finding.remedy,
        fixes=[fix_words(fix) for fix in finding.fixes],
        cost=finding.risk + keeps,
        not_because="; ".join(finding.ruled_out),
        source=finding.source,
    )
