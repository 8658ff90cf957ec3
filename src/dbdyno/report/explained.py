"""An explanation as words: what stalled, why, on what evidence, what to change, and what else was considered."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np

from dbdyno.explain.diagnose import Ranked
from dbdyno.explain.explain import Explanation
from dbdyno.model.fact import Scalar
from dbdyno.model.finding import Finding, Fix, Severity
from dbdyno.model.recording import Stall, StallKind
from dbdyno.model.units import seconds_text
from dbdyno.report.safe import safe

_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 100
_STALLS_SHOWN = 12


def explanation_text(explanation: Explanation, *, everything: bool = False) -> str:
    """For a terminal of 100 columns. Advice and what could not be judged are short unless `everything`."""
    lines = [headline(explanation)]
    if explanation.curve_t_s:
        lines += ["", "  " + sparkline(explanation.curve_per_s), "  " + _axis(explanation)]
    lines += _stall_lines(explanation)
    grave = [one for one in explanation.findings if one.finding.severity != Severity.ADVICE]
    advice = [one for one in explanation.findings if one.finding.severity == Severity.ADVICE]
    for number, one in enumerate(grave, start=1):
        lines += ["", *_finding_lines(number, one, explanation)]
    if explanation.unexplained:
        lines += ["", *_wrapped(_unexplained(explanation), "")]
    if advice:
        lines += ["", "Also seen, without a stall of its own:"]
        for one in advice:
            lines += _wrapped(f"- {one.finding.says} {one.finding.remedy}", "  ", "    ")
    if explanation.notes:
        lines += ["", *(line for note in explanation.notes for line in _wrapped(note, ""))]
    if explanation.unknown:
        lines += ["", *_unknown_lines(explanation, everything=everything)]
    return safe("\n".join(lines) + "\n")


def sparkline(values: Sequence[float | None], width: int = 72) -> str:
    """Eight heights from nothing to the most; a blank where nothing is known. Thinned by minima."""
    numbers = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    by = max(1, -(-len(numbers) // width))
    padded = np.append(numbers, np.full(-len(numbers) % by, np.nan)).reshape(-1, by)
    lowest = np.min(np.where(np.isfinite(padded), padded, np.inf), axis=1)
    known = lowest[np.isfinite(lowest)]
    # What was held up comes all at once when a stall ends: that peak must not flatten all the rest.
    top = min(float(known.max()), 1.5 * float(np.quantile(known, 0.75))) if known.size else 0.0
    top = top if top > 0 else float(known.max(initial=0.0)) or 1.0
    return "".join(_BARS[min(7, round(7 * one / top))] if np.isfinite(one) else " " for one in lowest)


def fix_words(fix: Fix) -> str:
    """One line that can be pasted."""
    words = fix.live or f"{fix.name} = {fix.value}"
    return words + (f"  (needs {fix.needs})" if fix.needs != "nothing" else "")


def fact_words(value: Scalar) -> str:
    """A figure of the evidence, to three digits."""
    return (
        f"{value:,.3g}"
        if isinstance(value, float) and abs(value) < 1000
        else f"{value:,}"
        if _whole(value)
        else str(value)
    )


def _whole(value: Scalar) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def evidence_words(finding: Finding) -> str:
    """The figures that it rests on, and the series that show them."""
    shown = "; ".join(f"{name} {fact_words(value)}" for name, value in finding.evidence.items() if value != "")
    return f"{shown} ({', '.join(finding.series)})"


def stall_words(stall: Stall) -> str:
    """When, how long, how deep."""
    kind = "lower from" if stall.kind is StallKind.DEGRADED else "stalled"
    return (
        f"{stall.start_s:.0f}–{stall.end_s:.0f} s: {kind} for {seconds_text(stall.seconds)}, "
        f"{stall.mean_per_s:.0f}/s instead of {stall.usual_per_s:.0f}/s"
    )


def headline(explanation: Explanation) -> str:
    """The record in one sentence."""
    if not explanation.throughput_from and not explanation.stalls:
        count = len(explanation.findings)
        found = f"{count} cause{'s' if count > 1 else ''} at work" if count else "no known cause at work"
        over = f" in {seconds_text(explanation.duration_s)}" if explanation.duration_s > 0 else ""
        return f"{explanation.name}: {found}{over}, as far as it shows."
    if not explanation.stalls:
        return f"{explanation.name}: no stall in {seconds_text(explanation.duration_s)}."
    held_s = sum(stall.seconds for stall in explanation.stalls)
    could = explanation.lost + explanation.done
    count = len(explanation.stalls)
    share = f", {explanation.lost / could:.0%} of what could have been done" if could > 0 else ""
    return (
        f"{explanation.name}: {count} stall{'s' if count > 1 else ''}, together {seconds_text(held_s)} of "
        f"{seconds_text(explanation.duration_s)}; {explanation.lost:,.0f} transactions lost{share}."
    )


def _axis(explanation: Explanation) -> str:
    known = [value for value in explanation.curve_per_s if value is not None]
    top = f"0 to {max(known, default=0):.0f}/s"
    return (
        f"{explanation.curve_t_s[0]:.0f} s … {explanation.curve_t_s[-1]:.0f} s, {top} ({explanation.throughput_from})"
    )


def _stall_lines(explanation: Explanation) -> list[str]:
    worst = sorted(range(len(explanation.stalls)), key=lambda number: -explanation.stalls[number].lost)[:_STALLS_SHOWN]
    lines = []
    for number in sorted(worst):
        stall = explanation.stalls[number]
        events = [one.kind for one in explanation.events if _overlaps(one.t_s, one.end_s, stall)]
        at = f" ({', '.join(sorted(set(events)))})" if events else ""
        lines.append(f"  {stall_words(stall)}{at}")
    more = len(explanation.stalls) - len(worst)
    return ["", *lines, *([f"  and {more} more"] if more else [])] if lines else []


def _overlaps(t_s: float, end_s: float | None, stall: Stall) -> bool:
    return t_s <= stall.end_s and (end_s if end_s is not None else t_s) >= stall.start_s


def _finding_lines(number: int, one: Ranked, explanation: Explanation) -> list[str]:
    finding = one.finding
    lines = [f"{number}. {finding.title}  [{finding.rule}, {_confidence(finding)}{_explains(one, explanation)}]"]
    curve = _stall_curve(finding, explanation)
    if curve:
        lines.append(f"   {curve}")
    lines += _wrapped(finding.says + (f" {finding.why}" if finding.why else ""), "   ")
    lines += _wrapped(f"evidence: {evidence_words(finding)}", "   ", "     ")
    lines += _wrapped(f"remedy:   {finding.remedy}", "   ", "     ")
    lines += [f"     {fix_words(fix)}" for fix in finding.fixes]
    keeps = f" Keeps {finding.durability.name}." if finding.durability is not None else ""
    if finding.risk or keeps:
        lines += _wrapped(f"cost:     {finding.risk}{keeps}", "   ", "     ")
    if finding.ruled_out:
        lines += _wrapped("not:      " + "; ".join(finding.ruled_out) + ".", "   ", "     ")
    if finding.verify:
        lines += _wrapped(f"verify:   {finding.verify}", "   ", "     ")
    lines += _wrapped(f"source:   {finding.source}", "   ", "     ")
    return lines


def _confidence(finding: Finding) -> str:
    return f"{finding.severity}, confidence {finding.confidence:.0%}"


def _explains(one: Ranked, explanation: Explanation) -> str:
    if not one.stalls:
        return ""
    return f", explains {len(one.stalls)} of {len(explanation.stalls)} stalls"


def _stall_curve(finding: Finding, explanation: Explanation) -> str:
    """The stall with as much again on both sides."""
    if finding.start_s is None or finding.end_s is None or not explanation.curve_t_s:
        return ""
    around = max(10.0, finding.end_s - finding.start_s)
    low, high = finding.start_s - around, finding.end_s + around
    pairs = zip(explanation.curve_t_s, explanation.curve_per_s, strict=True)
    inside = [value for t_s, value in pairs if low <= t_s <= high]
    return f"{sparkline(inside, 60)}  {max(0.0, low):.0f} … {min(high, explanation.duration_s):.0f} s" if inside else ""


def _unexplained(explanation: Explanation) -> str:
    numbers = explanation.unexplained
    first = ", ".join(f"{explanation.stalls[one].start_s:.0f} s" for one in numbers[:5])
    return (
        f"No cause was found for {len(numbers)} of {len(explanation.stalls)} stalls (at {first}"
        + (", …" if len(numbers) > 5 else "")
        + ")."
    )


def _unknown_lines(explanation: Explanation, *, everything: bool) -> list[str]:
    if everything:
        lines = ["Could not be judged:"]
        for one in explanation.unknown:
            lines += _wrapped(f"{one.rule}: {one.why}", "  ", "    ")
        return lines
    count = len(explanation.unknown)
    words = "1 cause" if count == 1 else f"{count} causes"
    return [f"{words} could not be judged for want of data (--all lists them)."]


def _wrapped(text: str, indent: str, further: str | None = None) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=further or indent)
