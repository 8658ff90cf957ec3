"""A against B, of runs: figures, what makes them hard to compare, and what differs. Pure functions of run folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dbdyno.model.errors import UsageError
from dbdyno.model.plan import LoopMode, Plan
from dbdyno.model.record import Record
from dbdyno.model.run import PhaseOutcome
from dbdyno.model.trial import Comparison
from dbdyno.report import figures
from dbdyno.report.reading import closed_phase, doubts_of, load_of, open_phase
from dbdyno.report.shapes import Note
from dbdyno.report.thin import Floats
from dbdyno.report.words import setting_rows, workload_words
from dbdyno.run.record import RunRecord, open_run
from dbdyno.stats import paired

FIGURES = {"tps": "higher", "p99": "lower"}
"""Figures that can be compared, and which direction is good."""
_CLOSED = "closed loop"
_TITLES = {"tps": "transactions per second", "p99": "99th percentile of the response time"}


class Difference(Record, frozen=True, kw_only=True):
    """A setting or fact that differs between the sides."""

    name: str
    a: str
    b: str


class CompareView(Record, frozen=True, kw_only=True):
    """All that a comparison says."""

    a: list[str]
    b: list[str]
    figure: str
    says: str
    values_a: list[float]
    values_b: list[float]
    unit: str
    doubts: list[Note]
    warnings: list[str]
    differences: list[Difference]
    comparison: Comparison
    worse: bool


def compare_runs(
    a: Sequence[Path], b: Sequence[Path], *, figure: str, pairs: bool, seed: int, anyway: bool = False
) -> CompareView:
    """Compares runs of A with runs of B; with `pairs`, a[i] was measured next to b[i].

    Without pairs, one run each, by their interval series. Raises `UsageError` when the runs cannot be compared (other
    workload or dataset, unless `anyway`; unequal numbers), `RecordError` when a folder is no run.
    """
    sides = [[open_run(path) for path in paths] for paths in (a, b)]
    _check_numbers(a, b, pairs)
    if (refusal := _refusal(sides, figure)) and not anyway:
        raise UsageError(
            "These runs cannot be compared: they did not do the same work.",
            found=refusal,
            todo="compare runs of one workload, dataset and loop (at a fixed rate: --figure p99), or say --anyway",
        )
    phases = [[_phase(record, figure, sides) for record in side] for side in sides]
    values = [[_value(phase, figure) for phase in side] for side in phases]
    names = ("A", "B")
    if pairs:
        result = paired.compare(*values, figure=figure, names=names, better=FIGURES[figure], seed=seed)
    else:
        series = [_series(side[0], phase[0], figure) for side, phase in zip(sides, phases, strict=True)]
        step = float(sides[0][0].plan.interval_s)
        result = paired.compare_series(
            *series, figure=figure, names=names, better=FIGURES[figure], seed=seed, seconds=step
        )
    warnings = ([refusal] if refusal else []) + _warnings(sides, phases, figure)
    return CompareView(
        a=[record.path.name for record in sides[0]],
        b=[record.path.name for record in sides[1]],
        figure=figure,
        says=_says(phases[0][0], figure, sides[0][0].plan),
        values_a=values[0],
        values_b=values[1],
        unit="tps" if figure == "tps" else "ms",
        doubts=_doubts(sides),
        warnings=warnings,
        differences=_differences(sides),
        comparison=result,
        worse=result.verdict == paired.SLOWER,
    )


def _check_numbers(a: Sequence[Path], b: Sequence[Path], pairs: bool) -> None:
    if pairs and len(a) != len(b):
        raise UsageError(
            "Pairs need equally many runs on both sides.",
            found=f"A: {len(a)}, B: {len(b)}",
            todo="name the runs in the order of their pairs: A1,A2,A3 B1,B2,B3",
        )
    if not pairs and (len(a) > 1 or len(b) > 1):
        raise UsageError(
            "Several runs on a side are compared in pairs only.",
            found=f"A: {len(a)}, B: {len(b)}",
            todo="add --pairs when each run of A was measured next to the run of B at the same place",
        )


def _phase(record: RunRecord, figure: str, sides: list[list[RunRecord]]) -> PhaseOutcome:
    """For throughput the closed loop; for latency the fixed rate when every run has one."""
    everyone = [one for side in sides for one in side]
    fixed = figure == "p99" and all(open_phase(one) is not None for one in everyone)
    phase = open_phase(record) if fixed else closed_phase(record)
    if phase is None or not phase.count:
        raise UsageError(
            f"{record.path.name} has no measured transactions to compare.",
            found=f"status {record.status}",
            todo="compare runs with a measured phase",
        )
    return phase


def _value(phase: PhaseOutcome, figure: str) -> float:
    return phase.tps if figure == "tps" else phase.response.p99_us / 1e3


def _series(record: RunRecord, phase: PhaseOutcome, figure: str) -> Floats:
    load = load_of(record)
    mine = np.array([name == phase.phase for name in load.phase], dtype=bool)
    column: Floats = (load.tps if figure == "tps" else load.response_ms["p99_us"])[mine]
    return column


def _says(phase: PhaseOutcome, figure: str, plan: Plan) -> str:
    planned = next((one for one in plan.phases if one.name == phase.phase), None)
    if planned is not None and planned.mode == LoopMode.OPEN:
        return f"{_TITLES[figure]} at a fixed rate of {figures.number(planned.rate_per_s)} per second"
    return f"{_TITLES[figure]} in the {_CLOSED}"


def _refusal(sides: list[list[RunRecord]], figure: str) -> str:
    """Why the runs did not do the same work; empty when they did. At a fixed rate, throughput is what was asked for."""
    words = sorted({workload_words(record.plan.workload) for side in sides for record in side})
    if len(words) > 1:
        return f"different workloads: {'; '.join(words)}"
    databases = sorted({record.plan.target.database for side in sides for record in side})
    if len(databases) > 1:
        return f"different datasets: databases {', '.join(databases)}"
    loops = sorted({_loop(record) for side in sides for record in side})
    if figure == "tps" and loops != [_CLOSED]:
        return f"throughput is a result of the closed loop alone: {'; '.join(loops)}"
    return ""


def _loop(record: RunRecord) -> str:
    """The loop that throughput is taken from, in words."""
    measured = [phase for phase in record.plan.phases if phase.measured]
    if not measured or any(phase.mode == LoopMode.CLOSED for phase in measured):
        return _CLOSED
    return f"a fixed rate of {figures.number(measured[0].rate_per_s)} per second"


def _each(sides: list[list[RunRecord]], what: Any) -> list[list[str]]:
    return [sorted({str(what(record)) for record in side}) for side in sides]


def _version(record: RunRecord) -> str:
    facts = {fact.name: fact for fact in record.facts("before") or record.facts("after")}
    for name in ("server.version_text", "server.version"):
        if name in facts and not facts[name].unknown:
            return str(facts[name].value)
    return "unknown"


def _warnings(sides: list[list[RunRecord]], phases: list[list[PhaseOutcome]], figure: str) -> list[str]:
    """What differs beside the thing that was meant to differ."""
    asked = (
        ("connections", lambda record: record.plan.threads),
        ("sending of BEGIN and COMMIT", lambda record: "pipelined" if record.plan.pipeline else "one by one"),
        ("engine", lambda record: record.plan.target.engine),
        ("server", lambda record: record.plan.target.label),
        ("server version", _version),
        ("load machine", lambda record: record.plan.target.machine),
    )
    found = []
    for name, what in asked:
        a, b = _each(sides, what)
        if a != b:
            found.append(f"{name} differs: A {', '.join(a)}; B {', '.join(b)}")
    lengths = [phase.seconds for side in phases for phase in side]
    if min(lengths) < 0.8 * max(lengths):
        found.append(f"length differs: {figures.seconds(min(lengths))} to {figures.seconds(max(lengths))}")
    if figure == "p99":
        rates = {
            figures.number(one.rate_per_s)
            for side in sides
            for record in side
            for one in record.plan.phases
            if one.measured and one.mode == LoopMode.OPEN
        }
        loops = sorted({_loop(record) for side in sides for record in side})
        if rates and _CLOSED in loops and len(loops) > 1:
            found.append(f"loop differs: {'; '.join(loops)}; such response times say little")
        if len(rates) > 1:
            found.append(f"fixed rate differs: {', '.join(sorted(rates))} per second; such response times say little")
        elif not rates:
            found.append("no phase at a fixed rate: under full load a faster server is also a busier one")
    return found


def _doubts(sides: list[list[RunRecord]]) -> list[Note]:
    """By side and kind, grave ones first."""
    notes: dict[tuple[str, str], Note] = {}
    for side, records in zip("AB", sides, strict=True):
        for record in records:
            if record.outcome is None:
                words = f"{record.path.name} has no outcome: it was cut off or still runs."
                notes[(side, record.path.name)] = Note(says=f"{side}: {words}", kind="cut off", grave=True)
            for one in doubts_of(record.outcome):
                key = (side, str(one.doubt))
                times = notes[key].times + 1 if key in notes else 1
                notes[key] = Note(
                    says=f"{side}: {one.says}", kind=str(one.doubt), helps=one.helps, grave=one.doubt.grave, times=times
                )
    return sorted(notes.values(), key=lambda note: not note.grave)


def _differences(sides: list[list[RunRecord]]) -> list[Difference]:
    """Settings that differ between the first runs of the sides."""
    first, second = (
        {row.name: row.value for row in setting_rows(side[0].facts("before")) if not row.unknown} for side in sides
    )
    return [
        Difference(name=name, a=first.get(name, figures.NONE), b=second.get(name, figures.NONE))
        for name in sorted(first.keys() | second.keys())
        if first.get(name) != second.get(name)
    ]


def compare_text(view: CompareView) -> str:
    """Doubts first, then the answer."""
    from dbdyno.report.safe import safe
    from dbdyno.report.text import notes_text

    one = view.comparison
    lines = notes_text(view.doubts)
    if view.warnings:
        lines += ["not alike", *(f"  ! {warning}" for warning in view.warnings), ""]
    for side, names, values in (("A", view.a, view.values_a), ("B", view.b, view.values_b)):
        shown = ", ".join(f"{figures.number(value)} {view.unit}" for value in values)
        lines.append(f"{side}  {', '.join(names)}: {shown}")
    if view.differences:
        lines += ["", "settings that differ"]
        lines += [f"  {each.name}: {each.a} → {each.b}" for each in view.differences[:40]]
    lines += [
        "",
        view.says,
        f"ratio B/A  {figures.ratio(one.ratio)}  ({one.confidence * 100:.0f} % interval {interval_text(one)})",
        f"verdict    {_verdict(one.verdict)}",
    ]
    if one.says:
        lines.append(f"           {one.says}")
    return safe("\n".join(lines) + "\n")


def interval_text(one: Comparison) -> str:
    return figures.interval(one.low, one.high)


def _verdict(verdict: str) -> str:
    return f"B is {verdict}" if verdict in (paired.FASTER, paired.SLOWER) else verdict
