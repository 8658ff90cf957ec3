"""A ladder or a sweep as a page and as text: a pure function of its folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

import dbdyno
from dbdyno.model.errors import RecordError
from dbdyno.model.experiment import (
    ArmResult,
    Configuration,
    Crossover,
    ExperimentOutcome,
    Ladder,
    RungResult,
    Sweep,
    Watched,
)
from dbdyno.model.record import Record, from_json, to_json
from dbdyno.model.run import DoubtNote
from dbdyno.model.trial import Comparison, StudyPlan, Trial, TrialStatus
from dbdyno.report import contract, figures, gridpicture, html, links, pictures
from dbdyno.report.files import write_page
from dbdyno.report.shapes import Bar, BarCard, Effect, Link, Note, Row, Table
from dbdyno.report.studyview import verdict_words
from dbdyno.report.words import environment_rows, scalar, shell, workload_words
from dbdyno.run.record import open_run
from dbdyno.stats.paired import FASTER, SLOWER
from dbdyno.tune.experiment import PLAN
from dbdyno.tune.store import open_study

PAGE = "report.html"
CELL_MAX = 56
_COLORS = {FASTER: 1, SLOWER: 6}
_CHARGED = "transactions per second, deferred writes charged"


class ExperimentView(Record, frozen=True, kw_only=True):
    """All that the page says."""

    kind: str
    title: str
    status: str
    subtitle: list[str]
    says: str
    also: list[str] = []
    expects: str = ""
    bars: list[BarCard] = []
    effects: list[Effect] = []
    curves: list[gridpicture.GridCurve] = []
    curves_axis: str = ""
    tables: list[Table] = []
    crossovers: list[str] = []
    doubts: list[Note] = []
    contract: list[Row] = []
    environment: list[Row] = []
    links: list[Link] = []
    command: str = ""


def is_experiment(path: Path) -> bool:
    """Whether the study folder holds a ladder or a sweep."""
    return (path / PLAN).is_file()


def read_experiment(path: Path) -> tuple[Ladder | Sweep, ExperimentOutcome]:
    """Design and outcome. Raises `RecordError` when the folder is not an experiment."""
    try:
        words = msgspec.json.decode((path / PLAN).read_bytes())
        kind: type[Ladder] | type[Sweep] = Ladder if words["kind"] == "ladder" else Sweep
        design = from_json(to_json(words["design"]), kind)
    except (OSError, KeyError, TypeError, msgspec.MsgspecError) as error:
        raise RecordError(f"{path} is not a ladder or sweep.", found=str(error)) from None
    try:
        outcome = from_json((path / "outcome.json").read_bytes(), ExperimentOutcome)
    except (OSError, msgspec.MsgspecError):
        outcome = ExperimentOutcome(status="interrupted")
    return design, outcome


def view_experiment(path: Path, base: Path | None = None) -> ExperimentView:
    """Reads the folder. `base` is the folder that links are relative to (its own by default)."""
    record = open_study(path)
    design, outcome = read_experiment(path)
    plan, trials = record.plan, list(record.trials)
    ladder = isinstance(design, Ladder)
    says, also = (_ladder_answer(outcome)) if ladder else _sweep_answer(outcome)
    found = [*outcome.comparisons] if not ladder else _rung_comparisons(outcome)
    return ExperimentView(
        kind="ladder" if ladder else "sweep",
        title=design.title or f"{plan.target.label}, {workload_words(plan.workload)}",
        status=outcome.status,
        subtitle=_subtitle(plan, trials),
        says=says,
        also=also,
        expects=design.expects,
        bars=_bars(outcome) if ladder else [],
        effects=[_effect(one) for one in found],
        curves=gridpicture.curves(design, outcome.comparisons) if isinstance(design, Sweep) else [],
        curves_axis=design.axes[-1].name if isinstance(design, Sweep) else "",
        tables=[(_rung_table if ladder else _point_table)(outcome, design.watch)],
        crossovers=[crossover_words(one) for one in outcome.crossovers],
        doubts=_doubts(trials, outcome),
        contract=contract.rows(plan),
        environment=_environment(path, trials),
        links=links.study_links(path, base or path, [run for trial in trials for run in trial.runs]),
        command=shell(plan.command),
    )


def _subtitle(plan: StudyPlan, trials: Sequence[Trial]) -> list[str]:
    return [
        plan.target.label,
        workload_words(plan.workload),
        f"{len(trials)} runs of {figures.seconds(plan.measure_s)}",
        f"{plan.threads} connections",
        f"seed {plan.seed}",
    ]


def _ladder_answer(outcome: ExperimentOutcome) -> tuple[str, list[str]]:
    kept = [one.name for one in outcome.rungs if one.kept]
    if not outcome.rungs:
        return "No rung has been measured.", []
    says = f"{len(kept)} of {len(outcome.rungs)} changes were kept" + (f": {', '.join(kept)}." if kept else ".")
    total = outcome.total
    if total is not None:
        words = f"{figures.ratio(total.ratio)} the throughput ({figures.interval(total.low, total.high)})"
        return says, [f"All that was kept, together, against the base: {words}."]
    return says, []


def _sweep_answer(outcome: ExperimentOutcome) -> tuple[str, list[str]]:
    known = [one for one in outcome.arms if one.tps_charged]
    if not known:
        return "No point has been measured.", []
    best = max(known, key=lambda one: one.tps_charged or 0.0)
    return f"The highest throughput was seen at {best.name}: {figures.number(best.tps_charged)} {_CHARGED}.", [
        "The highest of several noisy figures is too high by chance; the intervals say what is shown."
    ]


def _rung_comparisons(outcome: ExperimentOutcome) -> list[Comparison]:
    found = [one.comparison for one in outcome.rungs if one.comparison is not None]
    return [*found, *([outcome.total] if outcome.total else [])]


def _bars(outcome: ExperimentOutcome) -> list[BarCard]:
    """The base and each change of a ladder."""
    arms = [("base", outcome.rungs[0].without, 0)] if outcome.rungs else []
    arms += [(one.name if one.kept else f"({one.name})", one.with_, 1 if one.kept else 5) for one in outcome.rungs]
    top = max((value for _, one, _ in arms for value in (one.tps, one.tps_charged) if value), default=0.0)
    if not top:
        return []
    bars = [
        Bar(
            who=who,
            color=color,
            value=figures.number(one.tps_charged),
            fraction=round((one.tps_charged or 0.0) / top, 4),
            ghost=round((one.tps or 0.0) / top, 4),
            hint=f"mean of {one.runs} runs",
        )
        for who, one, color in arms
    ]
    says = f"{_CHARGED}; the pale part was deferred. Changes in brackets were not kept."
    return [BarCard(title="Throughput", says=says, bars=bars)]


def _effect(one: Comparison) -> Effect:
    return Effect(
        label=one.b,
        figure=f"over {one.a}",
        verdict=verdict_words(one),
        ratio=one.ratio,
        low=one.low,
        high=one.high,
        ratios=list(one.ratios),
        color=_COLORS.get(one.verdict, 0),
        confidence=one.confidence,
    )


def _watched_cells(arm: ArmResult, roles: Sequence[str]) -> list[str]:
    by_role: dict[str, Watched] = {one.role: one for one in arm.watched}
    cells = []
    for role in roles:
        one = by_role.get(role)
        cells.append(
            f"{scalar(round(one.mean, 3), one.unit)}, at most {scalar(round(one.largest, 3), one.unit)}"
            if one
            else figures.NONE
        )
    return cells


def configuration_words(one: Configuration) -> str:
    """`a = 1, b = x`; options of the workload say so."""
    words = [f"{name} = {value}" for name, value in one.settings.items()]
    return ", ".join([*words, *(f"option {name} = {value}" for name, value in one.options.items())]) or "defaults"


def _rung_table(outcome: ExperimentOutcome, roles: Sequence[str]) -> Table:
    rows = []
    for one in outcome.rungs:
        ratio, interval = _ratio_cells(one.comparison)
        rows.append(
            [one.name, configuration_words(_change(one)), figures.number(one.without.tps_charged),
             figures.number(one.with_.tps_charged), ratio, interval, figures.milliseconds(one.with_.p99_ms),
             *_watched_cells(one.with_, roles), _judged(one)]
        )  # fmt: skip
    heads = ["change", "settings", "before", "with it", "ratio", "interval", "p99", *roles, "judged"]
    return Table(
        title="Each change against what stood before it",
        heads=heads,
        rows=rows,
        numeric=[False, False, *[True] * (len(heads) - 3), False],
    )


def _judged(one: RungResult) -> str:
    return one.says + (f" ({one.with_.error.splitlines()[0]})" if one.with_.error else "")


def _change(one: RungResult) -> Configuration:
    before, after = one.without.configuration, one.with_.configuration
    return Configuration(
        settings={name: value for name, value in after.settings.items() if before.settings.get(name) != value},
        options={name: value for name, value in after.options.items() if before.options.get(name) != value},
    )


def _ratio_cells(one: Comparison | None) -> tuple[str, str]:
    return (figures.NONE, "") if one is None else (figures.ratio(one.ratio), figures.interval(one.low, one.high))


def _point_table(outcome: ExperimentOutcome, roles: Sequence[str]) -> Table:
    over = {one.b: one for one in outcome.comparisons}
    rows = []
    for index, one in enumerate(outcome.arms):
        ratio, interval = ("1", "reference") if index == 0 else _ratio_cells(over.get(one.name))
        made = figures.seconds(one.prepare_s) if one.prepare_s is not None else figures.NONE
        rows.append(
            [one.name, str(one.runs), figures.number(one.tps_charged), figures.number(one.tps), ratio, interval,
             figures.milliseconds(one.p99_ms), figures.size(one.write_bytes_per_transaction), made,
             *_watched_cells(one, roles)]
        )  # fmt: skip
    heads = ["point", "runs", "charged tps", "tps", "ratio", "interval", "p99", "written/transaction", "made anew in",
             *roles]  # fmt: skip
    return Table(title="All points", heads=heads, rows=rows, numeric=[False, *[True] * (len(heads) - 1)])


def crossover_words(one: Crossover) -> str:
    """One sentence."""
    where = "".join(f", at {name} = {value}" for name, value in one.where.items())
    sized = not one.low.replace(".", "").isdigit()
    shown = figures.size(one.at) if sized else figures.number(one.at)
    at = f", about {shown}" if one.at is not None else ""
    sure = "" if one.shown else " (not shown: an interval at one of the ends holds 1)"
    return (
        f"{one.of}: {one.a} is better at {one.along} = {one.low}, {one.b} at {one.high}; "
        f"the change lies between them{at}{where}{sure}."
    )


def _why(error: str) -> str:
    """What happened and the first line of what was found; the rest is in the record."""
    return " ".join(line.strip() for line in error.splitlines()[:2])


def _doubts(trials: Sequence[Trial], outcome: ExperimentOutcome) -> list[Note]:
    notes = [Note(says=outcome.error, kind="error", grave=True)] if outcome.error else []
    seen: dict[str, tuple[DoubtNote, int]] = {}
    for trial in trials:
        for doubt in trial.doubts:
            seen[doubt.doubt] = (doubt, seen.get(doubt.doubt, (doubt, 0))[1] + 1)
    notes += [
        Note(says=one.says, kind=str(one.doubt), helps=one.helps, grave=one.doubt.grave, times=times)
        for one, times in sorted(seen.values(), key=lambda pair: (not pair[0].doubt.grave, -pair[1]))
    ]
    notes += [
        Note(says=f"{one.name}: {_why(one.error)}", kind="failed", grave=True) for one in outcome.arms if one.error
    ]
    if failed := sum(trial.status is TrialStatus.FAILED for trial in trials):
        notes.append(Note(says=f"{failed} of {len(trials)} runs failed.", kind="failed", grave=True))
    return notes


def _environment(path: Path, trials: Sequence[Trial]) -> list[Row]:
    for run in (run for trial in trials for run in trial.runs):
        try:
            return environment_rows(open_run(path / run).facts("before"))
        except RecordError:
            continue
    return []


def render_experiment(view: ExperimentView) -> str:
    return html.render(
        "experiment.html",
        view=view,
        charts=[],
        version=dbdyno.__version__,
        key=pictures.key,
        interval=pictures.interval_words,
        forest=pictures.forest,
        grid=gridpicture.draw,
    )


def write_experiment_report(path: Path, out: Path | None = None) -> Path:
    """Writes the page (`report.html` in the folder by default) and returns its path. Raises `RecordError`."""
    out = out or path / PAGE
    return write_page(out, render_experiment(view_experiment(path, out.absolute().parent)))


def _cut(cell: str) -> str:
    """Long cells would break the table; the page has them whole."""
    return cell if len(cell) <= CELL_MAX else cell[: CELL_MAX - 2] + " …"


def table_text(one: Table) -> str:
    """A table for the terminal; names flush left, figures flush right."""
    lines = [[_cut(cell) for cell in line] for line in (one.heads, *one.rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(one.heads))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if numeric else cell.ljust(width)
            for cell, width, numeric in zip(line, widths, one.numeric, strict=True)
        ).rstrip()
        for line in lines
    )


def experiment_text(view: ExperimentView) -> str:
    """The same for the terminal: doubts first, then the table, then the answer."""
    lines = [f"doubt: {note.says}" + (f" ({note.times} times)" if note.times > 1 else "") for note in view.doubts]
    lines += [table_text(one) for one in view.tables]
    lines += [*view.crossovers, view.says, *view.also]
    if view.expects:
        lines.append(f"The source saw: {view.expects}")
    return "\n".join(lines)
