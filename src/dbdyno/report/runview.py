"""The view of a run: a pure function of its folder. A run that was cut off, or of which files are lost, shows what is
there and says what is not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dbdyno.model.errors import RecordError
from dbdyno.model.fact import Scalar
from dbdyno.model.plan import LoopMode, Plan
from dbdyno.model.run import Latency, Outcome, PhaseOutcome, RunStatus
from dbdyno.report import figures, links
from dbdyno.report.panels import checkpoints, panel_charts
from dbdyno.report.reading import Load, doubts_of, load_of, phases_of
from dbdyno.report.shapes import (
    Chart,
    Curve,
    Distribution,
    Line,
    Mark,
    Note,
    PhaseView,
    Row,
    RunView,
    Table,
    Tile,
)
from dbdyno.report.thin import Floats, thin
from dbdyno.report.timeline import explained_run
from dbdyno.report.words import environment_rows, scalar, setting_rows, shell, workload_words
from dbdyno.run.record import RunRecord, open_run
from dbdyno.stats import histogram

_PERCENTILES = (("p50_us", "p50", 3), ("p95_us", "p95", 2), ("p99_us", "p99", 1), ("p999_us", "p99.9", 6))
_NINES = (*range(10, 100, 2), 99, 99.3, 99.5, 99.7, 99.8, 99.9, 99.95, 99.98, 99.99, 99.995, 99.999)


def view_run(path: Path, base: Path | None = None) -> RunView:
    """Reads a run folder. `base` is the folder that links are relative to (the run's own by default).

    Raises `RecordError` when the folder is not a run at all.
    """
    record = open_run(path)
    plan, outcome = record.plan, record.outcome
    load = load_of(record)
    phases = phases_of(record)
    marks = _marks(load, record)
    facts = record.facts("before") or record.facts("after")
    load_charts = [] if load.empty else _load_charts(load, marks)
    server_charts = panel_charts(record, marks, "run")
    last = (server_charts or load_charts)[-1:]
    views = [_phase(phase, plan) for phase in phases if phase.measured]
    return RunView(
        name=path.name,
        title=plan.title or f"Run of {workload_words(plan.workload)}" if plan.workload else "Recording without load",
        status=str(outcome.status) if outcome is not None else "cut off",
        says=_says(plan, phases, outcome),
        subtitle=_subtitle(record),
        doubts=_doubts(record),
        gone=_gone(record, load, phases, server_charts),
        phases=views,
        load_charts=[_labelled(one, last) for one in load_charts],
        server_charts=[_labelled(one, last) for one in server_charts],
        distributions=_distributions(phases, plan),
        transactions=[_mix(phase) for phase in phases if phase.measured and phase.transactions],
        errors=_errors(record, phases),
        counters=[_counter(name, value) for name, value in (outcome.server if outcome is not None else {}).items()],
        settings=setting_rows(facts),
        environment=environment_rows(facts),
        sampling=_sampling(outcome, record),
        links=links.run_links(path, base or path),
        command=shell(plan.command),
        explained=explained_run(path),
    )


def _labelled(chart: Chart, last: Sequence[Chart]) -> Chart:
    import msgspec

    return msgspec.structs.replace(chart, last=bool(last) and chart.id == last[0].id)


def _says(plan: Plan, phases: Sequence[PhaseOutcome], outcome: Outcome | None) -> str:
    measured = [phase for phase in phases if phase.measured and phase.count]
    if not measured:
        return "The run holds no measured transaction." if plan.verb == "run" else "A recording without load."
    first = measured[0]
    words = (
        f"{figures.number(first.tps)} transactions per second over {figures.seconds(first.seconds)} "
        f"with {first.threads} connections; "
        f"99 % of them answered within {figures.milliseconds(first.response.p99_us / 1e3)}."
    )
    if outcome is None:
        words += " The run was cut off: these are the intervals that were written."
    elif outcome.status != RunStatus.DONE:
        words += f" The run {'failed' if outcome.status == RunStatus.FAILED else 'was interrupted'}."
    return words


def _subtitle(record: RunRecord) -> list[str]:
    plan = record.plan
    found = [plan.target.label, *([workload_words(plan.workload)] if plan.title else [])]
    found.append(f"{plan.threads} {'connection' if plan.threads == 1 else 'connections'}")
    found.append(f"seed {plan.seed}")
    found += [f"machine {plan.target.machine}"] if plan.target.machine.startswith("ssh://") else []
    found += [f"{name} {value}" for name, value in plan.labels.items()]
    return found


def _doubts(record: RunRecord) -> list[Note]:
    notes = [
        Note(says=one.says, kind=str(one.doubt), helps=one.helps, grave=one.doubt.grave)
        for one in doubts_of(record.outcome)
    ]
    notes.sort(key=lambda note: not note.grave)
    if record.outcome is None:
        words = "The run has no outcome: it was cut off, or it still goes on."
        notes.insert(0, Note(says=words, kind="cut off", grave=True))
    elif record.outcome.error:
        notes.insert(0, Note(says=record.outcome.error, kind="error", grave=True))
    if bad := record.unreadable_lines:
        notes.append(Note(says=f"{bad} lines of the record could not be read and were passed over.", kind="damaged"))
    return notes


def _gone(record: RunRecord, load: Load, phases: Sequence[PhaseOutcome], server: Sequence[Chart]) -> dict[str, str]:
    gone = {}
    if load.empty:
        gone["load"] = "No interval was recorded, so there is no throughput over time."
    if not any(phase.measured for phase in phases):
        gone["phases"] = "No measured phase was recorded."
    if not server:
        gone["samples"] = "No samples of the server or its machine were recorded."
    if not any(phase.measured and phase.response.hdr for phase in phases):
        gone["latency"] = "No latency histogram was recorded."
    return gone


def _phase(phase: PhaseOutcome, plan: Plan) -> PhaseView:
    planned = next((one for one in plan.phases if one.name == phase.phase), None)
    fixed = planned is not None and planned.mode == LoopMode.OPEN
    tiles = [Tile(name="throughput", value=figures.number(phase.tps), unit="tps", hint="all transaction types")]
    if (nopm := phase.figures.get("nopm")) is not None:
        tiles.append(Tile(name="NOPM", value=figures.number(nopm), unit="/min", hint="new orders; TPC-C-like, no wait"))
    for field, name in (("p50_us", "p50"), ("p95_us", "p95"), ("p99_us", "p99"), ("p999_us", "p99.9")):
        value = getattr(phase.response, field) / 1e3 if phase.response.count else None
        hint = f"service {figures.number(getattr(phase.service, field) / 1e3)} ms" if phase.service.count else ""
        text, _, unit = figures.milliseconds(value).partition(figures.HARD)
        tiles.append(Tile(name=f"response {name}", value=text, unit=unit, hint=hint))
    tiles.append(
        Tile(
            name="errors",
            value=figures.grouped(phase.errors),
            hint=f"{figures.grouped(phase.retries)} retries of {figures.grouped(phase.count)} transactions",
        )
    )
    how = (
        f"open loop at {figures.number(planned.rate_per_s)} per second ({planned.arrivals})"
        if fixed and planned
        else "closed loop"
    )
    says = f"{how}, {figures.seconds(phase.seconds)}, {phase.threads} connections"
    return PhaseView(name=phase.phase, says=says, tiles=tiles)


def _marks(load: Load, record: RunRecord) -> list[Mark]:
    phases = [Mark(t_s=round(one.start_s, 2), kind="phase", color=0, label=one.name) for one in load.stretches]
    return phases + checkpoints(record)


def _lines(t_s: Floats, named: Sequence[tuple[str, int, Floats, bool]]) -> tuple[list[float], list[Line]]:
    thinned = thin(t_s, [column for _, _, column, _ in named])
    lines = [
        Line(
            label=label,
            color=color,
            values=thinned.mean[index],
            low=thinned.low[index] if thinned.low else [],
            high=thinned.high[index] if thinned.high else [],
            dash=dash,
        )
        for index, (label, color, _, dash) in enumerate(named)
    ]
    return thinned.t_s, lines


def _load_charts(load: Load, marks: list[Mark]) -> list[Chart]:
    x, tps = _lines(load.t_s, [("transactions", 1, load.tps, False)])
    charts = [
        Chart(
            id="run-tps",
            group="run",
            title="Throughput",
            unit="tps",
            axis="transactions per second",
            x=x,
            lines=tps,
            marks=marks,
            tall=True,
            fill=True,
        )
    ]
    wanted = [(f"response {name}", color, load.response_ms[field], False) for field, name, color in _PERCENTILES]
    wanted.append(("service p99", 0, load.service_ms["p99_us"], True))
    x, lines = _lines(load.t_s, [one for one in wanted if np.isfinite(one[2]).any()])
    if lines:
        charts.append(
            Chart(
                id="run-latency",
                group="run",
                title="Response time of each interval",
                unit="ms",
                axis="milliseconds",
                x=x,
                lines=lines,
                marks=marks,
                tall=True,
            )
        )
    if load.errors.any() or load.retries.any():
        x, lines = _lines(load.t_s, [("errors", 6, load.errors, False), ("retries", 2, load.retries, True)])
        charts.append(
            Chart(
                id="run-errors",
                group="run",
                title="Errors and retries",
                unit="per s",
                axis="per second",
                x=x,
                lines=lines,
                marks=marks,
            )
        )
    return charts


def _distributions(phases: Sequence[PhaseOutcome], plan: Plan) -> list[Distribution]:
    found = []
    for phase in phases:
        if not phase.measured:
            continue
        curves = []
        for label, latency, color, dash in (
            ("response", phase.response, 1, False),
            ("service", phase.service, 2, True),
        ):
            points = _curve(latency)
            if points:
                curves.append(Curve(label=label, color=color, dash=dash, points=points))
        if curves:
            words = f"{figures.grouped(phase.response.count)} transactions of phase “{phase.phase}”."
            found.append(Distribution(phase=phase.phase, says=words, curves=curves))
    return found


def _curve(latency: Latency) -> list[tuple[float, float]]:
    """Percentiles as far as the number of transactions carries them; a damaged histogram gives nothing."""
    try:
        decoded = histogram.decode(latency.hdr)
    except RecordError:
        return []
    if not decoded.count:
        return []
    known = [one for one in _NINES if (100 - one) / 100 * decoded.count >= 1 or one <= 50]
    return [(float(one), decoded.percentile_us(one) / 1e3) for one in known]


def _mix(phase: PhaseOutcome) -> Table:
    total = max(1, phase.count)
    rows = []
    for name, one in phase.transactions.items():
        latency = phase.by_type.get(name, {}).get("response")
        count = _whole(one.get("count"))
        rows.append(
            [
                name.replace("_", " "),
                figures.grouped(count),
                figures.percent(count / total),
                figures.number(count / phase.seconds if phase.seconds else None),
                figures.milliseconds(latency.p50_us / 1e3 if latency else None),
                figures.milliseconds(latency.p99_us / 1e3 if latency else None),
                figures.grouped(_whole(one.get("rollbacks"))),
                figures.grouped(_whole(one.get("retries"))),
                figures.grouped(sum(_whole(value) for value in (one.get("errors") or {}).values())),
            ]
        )
    heads = ["transaction", "count", "share", "per second", "p50", "p99", "rolled back", "retries", "errors"]
    return Table(title=f"phase “{phase.phase}”", heads=heads, rows=rows, numeric=[False, *[True] * 8])


def _whole(value: Any) -> int:
    return int(value) if isinstance(value, int | float) else 0


def _errors(record: RunRecord, phases: Sequence[PhaseOutcome]) -> list[Row]:
    rows = []
    for phase in phases:
        for name, one in phase.transactions.items():
            for kind, times in (one.get("errors") or {}).items():
                if times:
                    words = f"{figures.grouped(_whole(times))} times in phase “{phase.phase}”"
                    rows.append(Row(name=f"{name.replace('_', ' ')}: {kind}", value=words))
    for event in record.events():
        if event["event"] == "error":
            code = f" {event['code']}" if event.get("code") else ""
            hint = f" ({event['hint']})" if event.get("hint") else ""
            rows.append(Row(name=f"{event.get('class', 'error')}{code}", value=f"{event.get('message', '')}{hint}"))
    return rows[:50]


def _counter(name: str, value: Scalar) -> Row:
    unit = "bytes" if name.endswith("_bytes") else "s" if name.endswith("_s") else "ms" if name.endswith("_ms") else ""
    shown = figures.grouped(round(value)) if isinstance(value, float) and not unit else scalar(value, unit)
    return Row(name=name.removesuffix("_bytes").removesuffix("_ms").removesuffix("_s").replace("_", " "), value=shown)


def _sampling(outcome: Outcome | None, record: RunRecord) -> list[Row]:
    rows = []
    for name, value in (outcome.sampling if outcome is not None else {}).items():
        unit = "ms" if name.endswith("_ms") else "s" if name.endswith("_s") else ""
        label = name.removesuffix(f"_{unit}") if unit else name
        shown = (
            figures.seconds(float(value) / 1e3)
            if unit == "ms" and isinstance(value, int | float)
            else scalar(value, unit)
        )
        rows.append(Row(name=label.replace("_", " "), value=shown))
    rows += [
        Row(name=f"probe {name}", value="", unknown=why) for name, why in sorted(record.samples().unknown().items())
    ]
    return rows
