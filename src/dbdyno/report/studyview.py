"""The view of a tuning study: a pure function of its folder. What is missing becomes a sentence, never an error."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dbdyno.model.errors import RecordError
from dbdyno.model.trial import Comparison, StudyOutcome, StudyPlan, Trial, TrialKind, TrialStatus
from dbdyno.report import arms, contract, figures, links, methods, overlay
from dbdyno.report.comparing import interval_text
from dbdyno.report.shapes import (
    Answer,
    Arm,
    Effect,
    KnobRow,
    Note,
    Pair,
    Pairs,
    Row,
    StudyView,
    TrialRow,
)
from dbdyno.report.words import environment_rows, scalar, setting_rows, shell, workload_words
from dbdyno.run.record import open_run
from dbdyno.stats.paired import FASTER, SLOWER
from dbdyno.tune.rounds import slots
from dbdyno.tune.store import StudyRecord, open_study

LESS = " (less is better)"
_FIGURES = {
    "tps_charged": "throughput, deferred writes charged",
    "tps": "throughput",
    "rate_p99_ms": "99th percentile at a fixed rate" + LESS,
    "p99_ms": "99th percentile under full load" + LESS,
    "write_bytes_per_transaction": "bytes written per transaction" + LESS,
}


def figure_words(figure: str) -> str:
    return _FIGURES.get(figure, figure.replace("_", " "))


def view_study(path: Path, base: Path | None = None) -> StudyView:
    """Reads a study folder. `base` is the folder that links are relative to (the study's own by default).

    Raises `RecordError` when the folder is not a study at all.
    """
    record = open_study(path)
    plan, trials, outcome = record.plan, list(record.trials), record.outcome
    found = arms.arms(trials, outcome)
    palette = {one.name: one.color for one in found}
    configuration, statements = _winner_text(path, outcome)
    charts, charts_says, overlaid = overlay.overlay(path, trials, outcome)
    gone = _gone(trials, outcome, configuration)
    if not charts:
        gone["charts"] = overlaid
    return StudyView(
        name=plan.name,
        title=f"Tuning {plan.target.label} for {workload_words(plan.workload)}",
        status=outcome.status if outcome is not None else "interrupted",
        subtitle=_subtitle(plan, trials),
        answer=answer(plan, trials, outcome, found),
        checks=contract.checks(plan, outcome),
        doubts=_doubts(path, trials, outcome),
        gone=gone,
        arms=found,
        bars=arms.bar_cards(found),
        debts=arms.debt_table(found),
        effects=_effects(outcome, palette),
        pairs=_pairs(trials, palette),
        trials=_trial_rows(trials, path, base or path, {name: color for name, color in palette.items()}),
        trials_says=_trials_says(trials),
        knobs=_knobs(path, trials, outcome),
        configuration=configuration,
        statements=statements,
        charts=charts,
        charts_says=charts_says,
        noise=_noise_rows(outcome, trials),
        noise_says=_noise_says(outcome, trials),
        contract=contract.rows(plan),
        environment=_environment(record, path, trials),
        caveats=methods.study_caveats(plan, trials, outcome),
        methods=methods.study_methods(plan),
        links=links.study_links(path, base or path, [one for trial in trials for one in trial.runs]),
        command=shell(plan.command),
    )


def _subtitle(plan: StudyPlan, trials: Sequence[Trial]) -> list[str]:
    spent = sum(one.seconds for one in trials)
    return [
        f"{len(trials)} trials",
        f"{figures.seconds(spent)} of measuring",
        f"{plan.threads} connections",
        f"seed {plan.seed}",
        f"sampler {plan.sampler}",
    ]


def main_comparison(outcome: StudyOutcome | None) -> Comparison | None:
    """Winner over the server's default by charged throughput, else by any throughput."""
    found = outcome.comparisons if outcome is not None else ()
    for figure in ("tps_charged", "tps"):
        mine = [one for one in found if one.figure == figure and one.b == arms.WINNER]
        if mine:
            return next((one for one in mine if one.a == "default"), mine[0])
    return None


def answer(plan: StudyPlan, trials: Sequence[Trial], outcome: StudyOutcome | None, found: Sequence[Arm]) -> Answer:
    """One sentence that stands by itself."""
    main = main_comparison(outcome)
    if main is None:
        return _unconfirmed(trials, outcome, found)
    interval = f"{main.confidence * 100:.0f} % interval {interval_text(main)}"
    pairs = f"{main.pairs} interleaved {'pair' if main.pairs == 1 else 'pairs'}"
    times = f"{figures.ratio(main.ratio)} as many"
    if main.verdict == FASTER:
        says = f"The tuned configuration makes {times} transactions per second as {_the(main.a)}"
    elif main.verdict == SLOWER:
        says = f"The tuned configuration is slower than {_the(main.a)}: it makes {times} transactions per second"
    else:
        says = f"No difference in throughput between the tuned configuration and {_the(main.a)} was shown"
        interval = f"ratio {figures.ratio(main.ratio)}, {interval}"
    charged = "deferred writes charged, " if main.figure == "tps_charged" else ""
    tail = contract.summary(plan, outcome)
    compared = outcome.comparisons if outcome else ()
    also = [_also(one) for one in compared if one is not main and _worth_saying(one, main)]
    also += _long_run(outcome)
    return Answer(
        verdict=main.verdict,
        says=f"{says} ({charged}{interval}, {pairs}). {tail}",
        also=also,
        big=figures.ratio(main.ratio) if main.verdict in (FASTER, SLOWER) else "",
        against=_the(main.a),
        interval=interval,
    )


def _long_run(outcome: StudyOutcome | None) -> list[str]:
    """What the winner's run over checkpoint cycles showed, where it was made."""
    said = outcome.validation if outcome is not None else {}
    return [f"In one long run: {said['says']} ({said['verdict']})."] if "cycles" in said else []


def _the(name: str) -> str:
    return "the default" if name == "default" else f"the configuration “{name}”"


def _worth_saying(one: Comparison, main: Comparison) -> bool:
    """Beside the answer: what else changed against the same arm, and throughput against the others."""
    figures_said = ("rate_p99_ms", "write_bytes_per_transaction") if one.a == main.a else (main.figure,)
    return one.b == arms.WINNER and one.figure in figures_said


def verdict_words(one: Comparison) -> str:
    """`faster` and `slower` are said of throughput; of other figures `better` and `worse`."""
    if one.figure.startswith("tps"):
        return one.verdict
    return {"faster": "better", "slower": "worse"}.get(one.verdict, one.verdict)


def _also(one: Comparison) -> str:
    ends = interval_text(one)
    name = figure_words(one.figure).removesuffix(LESS)
    return f"Against {_the(one.a)}, {name}: {figures.ratio(one.ratio)} ({ends}), {verdict_words(one)}."


def _default_stays(outcome: StudyOutcome | None) -> bool:
    """The study came to its end, and its winner is the default."""
    return outcome is not None and outcome.status == "done" and not outcome.winner


def _unconfirmed(trials: Sequence[Trial], outcome: StudyOutcome | None, found: Sequence[Arm]) -> Answer:
    if not trials:
        return Answer(verdict="unknown", says="No trial has been recorded in this study, so there is no answer yet.")
    if _default_stays(outcome):
        says = (
            f"None of {len(trials)} trials was believed to beat the default, deferred writes charged: "
            "there was nothing to confirm. More or longer trials may find something (--trials, --time)."
        )
        return Answer(verdict="default", says=says)
    says = f"Not confirmed: the study stopped after {len(trials)} trials, before its interleaved pairs were complete."
    if outcome is not None and outcome.status == "done":
        says = f"Not confirmed: after {len(trials)} trials no interleaved pairs were run (--pairs)."
    best = next((one for one in found if one.color == 1), None)
    base = next((one for one in found if one.name == "default"), None)
    also = []
    if best and base and best.tps_charged and base.tps_charged:
        times = figures.ratio(best.tps_charged / base.tps_charged)
        also.append(
            f"The best configuration so far made {times} as many charged transactions per second as the default, "
            "each measured alone. That is a hint; the best of many trials looks better than it is."
        )
    return Answer(verdict="unknown", says=says, also=also)


def _winner_text(path: Path, outcome: StudyOutcome | None) -> tuple[str, str]:
    """The files if they are there, else the same text from the outcome."""
    texts = []
    for name, otherwise in (
        ("winner.conf", outcome.configuration_file if outcome else ""),
        ("winner.sql", "\n".join(outcome.statements) if outcome else ""),
    ):
        file = path / name
        texts.append(file.read_text("utf-8", "replace") if file.is_file() else otherwise)
    return texts[0].strip("\n"), texts[1].strip("\n")


def _gone(trials: Sequence[Trial], outcome: StudyOutcome | None, configuration: str) -> dict[str, str]:
    gone: dict[str, str] = {}
    if outcome is None:
        gone["outcome"] = "The study has no outcome: it was cut off or still runs. What follows is what was recorded."
    if not trials:
        gone["trials"] = "No trial was recorded."
    if outcome is None or not outcome.comparisons:
        gone["confirmation"] = "There was no confirmation: no pairs of runs were compared, so no ratio is claimed."
    if _default_stays(outcome):
        gone["winner"] = "The default won. What is below is only what the contract needs beside it."
    elif not configuration and not (outcome and outcome.winner):
        gone["winner"] = "No winner was chosen, so there is no configuration to copy."
    if outcome is None or not outcome.contributions:
        gone["contributions"] = "The contribution of each line was not measured."
    return gone


def _doubts(path: Path, trials: Sequence[Trial], outcome: StudyOutcome | None) -> list[Note]:
    """Doubts of what the answer rests on first (the confirmation, or all trials when there is none), then what the
    search had to throw away."""
    notes: list[Note] = []
    if outcome is not None and outcome.error:
        notes.append(Note(says=outcome.error, kind="error", grave=True))
    seen: dict[str, Note] = {}
    for trial in [one for one in trials if one.kind == TrialKind.CONFIRM] or trials:
        for doubt in trial.doubts:
            before = seen.get(doubt.doubt)
            seen[doubt.doubt] = Note(
                says=doubt.says if before is None else before.says,
                kind=str(doubt.doubt),
                helps=doubt.helps,
                grave=doubt.doubt.grave,
                times=1 if before is None else before.times + 1,
            )
    notes += sorted(seen.values(), key=lambda note: (not note.grave, -note.times))
    doubted = sum(1 for one in trials if one.status == TrialStatus.DOUBTED)
    failed = sum(1 for one in trials if one.status == TrialStatus.FAILED)
    if doubted:
        notes.append(Note(says=f"{doubted} of {len(trials)} trials were doubted and not believed.", kind="doubted"))
    if failed:
        notes.append(
            Note(says=f"{failed} of {len(trials)} trials failed; the reasons are in the list of trials.", kind="failed")
        )
    lost = [run for trial in trials for run in trial.runs[:1] if not (path / run).is_dir()]
    if lost:
        notes.append(
            Note(
                says=f"{len(lost)} run folders are not there any more; their figures come from the list of trials.",
                kind="lost",
            )
        )
    return notes


def _effects(outcome: StudyOutcome | None, palette: dict[str, int]) -> list[Effect]:
    return [
        Effect(
            label=f"{one.b} over {one.a}",
            figure=figure_words(one.figure),
            verdict=verdict_words(one),
            ratio=one.ratio,
            low=one.low,
            high=one.high,
            ratios=list(one.ratios),
            color=1 if one.figure.startswith("tps") else 4,
            confidence=one.confidence,
        )
        for one in (outcome.comparisons if outcome is not None else ())
    ]


def _pairs(trials: Sequence[Trial], palette: dict[str, int]) -> list[Pairs]:
    """Charged throughput of both arms in each round."""
    rounds = confirmation_rounds(trials)
    groups = []
    for name in {name: None for turn in rounds for name in turn if name != arms.WINNER}:
        found = [
            (turn[name].tps_charged, turn[arms.WINNER].tps_charged)
            for turn in rounds
            if {name, arms.WINNER} <= turn.keys()
        ]
        pairs = [Pair(a=a, b=b) for a, b in found if a is not None and b is not None]
        if pairs:
            groups.append(Pairs(a=name, b=arms.WINNER, color=palette.get(name, 0), pairs=pairs))
    return groups


def confirmation_rounds(trials: Sequence[Trial]) -> list[dict[str, Trial]]:
    """Confirmation runs by round and arm, failed ones left out."""
    filled = slots(trials, TrialKind.CONFIRM)
    names = {one.name for one in filled}
    rounds = [filled[start : start + len(names)] for start in range(0, len(filled), max(1, len(names)))]
    return [{one.name: one for one in turn if one.status != TrialStatus.FAILED} for turn in rounds]


def _trial_rows(trials: Sequence[Trial], path: Path, base: Path, palette: dict[str, int]) -> list[TrialRow]:
    rows: list[TrialRow] = []
    best: float | None = None
    for trial in trials:
        searched = trial.kind in arms.SEARCHED
        if searched and trial.status == TrialStatus.KEPT and trial.score is not None:
            best = trial.score if best is None else max(best, trial.score)
        words = [f"trial {trial.number}, {trial.kind}{f' ({trial.name})' if trial.name else ''}"]
        words.append(f"{figures.number(trial.score)} tps charged" if trial.score is not None else "no score")
        if trial.status in (TrialStatus.FAILED, TrialStatus.DOUBTED):
            words.append(
                f"{trial.status}: {trial.error or '; '.join(note.says for note in trial.doubts) or trial.says}"[:400]
            )
        elif trial.says:
            words.append(trial.says[:400])
        if trial.cause:
            words.append(f"against {trial.cause}: {trial.why}"[:400])
        run = trial.runs[0] if trial.runs else ""
        rows.append(
            TrialRow(
                number=trial.number,
                kind=str(trial.kind),
                status=str(trial.status),
                name=trial.name,
                score=trial.score,
                best=best if searched or trial.kind == TrialKind.ANCHOR else None,
                seconds=trial.seconds,
                says="\n".join(words),
                color=_trial_color(trial, palette),
                href=links.relative(path / run, base) if run and (path / run).is_dir() else "",
            )
        )
    return rows


def _trial_color(trial: Trial, palette: dict[str, int]) -> int:
    if trial.kind in (TrialKind.BASELINE, TrialKind.CONFIRM) and trial.name in palette:
        return palette[trial.name]
    return {TrialKind.ANCHOR: 0, TrialKind.ABLATION: 4, TrialKind.REPEAT: 7}.get(trial.kind, 5)


def _trials_says(trials: Sequence[Trial]) -> str:
    if not trials:
        return ""
    failed = sum(1 for one in trials if one.status == TrialStatus.FAILED)
    best = arms.best_search(trials)
    says = f"{len(trials)} trials, {failed} failed ({figures.percent(failed / len(trials))})."
    if best is not None:
        says += f" The best single trial is number {best.number} with {figures.number(best.score)} charged tps;"
        says += " single trials are not proof, pairs are."
    if guided := sum(bool(one.cause) and one.kind == TrialKind.SEARCH for one in trials):
        says += f" {guided} of them were made for what explains an earlier trial's run; their notes say why."
    return says


def _knobs(path: Path, trials: Sequence[Trial], outcome: StudyOutcome | None) -> list[KnobRow]:
    """The winner against the server's default, as the servers reported both; before a winner is chosen, the best
    trial so far."""
    base = [one for one in trials if one.name == "default" and not one.assignment] or [
        one for one in trials if one.name == "default"
    ]
    winner = dict(outcome.winner) if outcome is not None else {}
    if not winner:
        best = arms.best_search(trials)
        winner = dict(best.assignment) if best is not None else {}
    seen_before = reported(path, base)
    seen_after = reported(path, [one for one in trials if dict(one.assignment) == winner])
    contributions = outcome.contributions if outcome is not None else {}
    rows = []
    for name, before, after in arms.differences(dict(base[0].assignment) if base else {}, winner):
        both = name in seen_before and name in seen_after
        if both and seen_before[name] == seen_after[name]:
            continue
        effect = None
        if (measured := contributions.get(name)) and measured.get("ratio"):
            effect = Effect(
                label=name,
                figure="throughput",
                verdict=effect_words(measured),
                ratio=measured["ratio"],
                low=measured.get("low"),
                high=measured.get("high"),
                color=effect_color(measured),
            )
        rows.append(
            KnobRow(
                name=name,
                before=seen_before[name] if both else before,
                after=seen_after[name] if both else after,
                effect=effect,
            )
        )
    return sorted(rows, key=lambda row: -(row.effect.ratio if row.effect else 0.0))


def reported(path: Path, trials: Sequence[Trial]) -> dict[str, str]:
    """Settings as the server of the first readable run of these trials had them."""
    for trial in trials:
        for run in trial.runs:
            try:
                rows = setting_rows(open_run(path / run).facts("before"))
            except RecordError:
                continue
            if rows:
                return {row.name: row.value for row in rows if not row.unknown}
    return {}


def effect_words(measured: dict[str, float]) -> str:
    low, high = measured.get("low"), measured.get("high")
    if low is None or high is None:
        return "one measurement"
    return "helps" if low > 1 else "harms" if high < 1 else "no effect shown"


def effect_color(measured: dict[str, float]) -> int:
    return {"helps": 1, "harms": 6}.get(effect_words(measured), 0)


_NOISE = {
    "anchors": "anchors (known configurations measured again)",
    "repeat_cv": "repeats in the search, coefficient of variation",
    "drift_span": "drift over the search, smallest to largest",
    "aa_pairs": "A/A pairs in the confirmation",
    "aa_log_ratio_mean": "A/A pairs, mean difference",
    "aa_log_ratio_sd": "A/A pairs, standard deviation",
}
_NOISE_FRACTIONS = {"repeat_cv", "drift_span", "aa_log_ratio_mean", "aa_log_ratio_sd"}


def _noise_rows(outcome: StudyOutcome | None, trials: Sequence[Trial]) -> list[Row]:
    said = outcome.noise if outcome is not None else {}
    rows = []
    for name, title in _NOISE.items():
        value = said.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            shown = percent_or_count(name, value)
            rows.append(Row(name=title, value=shown))
    variation = anchor_variation(trials)
    if variation is not None:
        rows.append(Row(name="anchors, coefficient of variation", value=figures.percent(variation)))
    return rows


def percent_or_count(name: str, value: float) -> str:
    if name in _NOISE_FRACTIONS:
        return figures.percent(value, signed="mean" in name)
    return figures.grouped(round(value))


def anchor_variation(trials: Sequence[Trial]) -> float | None:
    """Coefficient of variation of anchors' scores when at least two ran the same configuration."""
    anchors = [one for one in arms.believed(trials) if one.kind == TrialKind.ANCHOR and one.score]
    groups: dict[str, list[float]] = {}
    for one in anchors:
        groups.setdefault(repr(sorted(one.assignment.items())), []).append(one.score or 0.0)
    spread, freedom = 0.0, 0
    for scores in groups.values():
        if len(scores) > 1:
            mean = sum(scores) / len(scores)
            spread += sum((score / mean - 1) ** 2 for score in scores)
            freedom += len(scores) - 1
    return (spread / freedom) ** 0.5 if freedom else None


def _noise_says(outcome: StudyOutcome | None, trials: Sequence[Trial]) -> str:
    said = outcome.noise.get("repeat_cv") if outcome is not None else None
    variation = float(said) if isinstance(said, int | float) else anchor_variation(trials)
    if variation is None:
        return "No configuration was measured often enough in the search to say how much the machine varies by itself."
    return (
        f"The same configuration, measured again and again during the search, varied by {figures.percent(variation)} "
        "(standard deviation over mean). Differences of that size between single trials mean nothing."
    )


def _environment(record: StudyRecord, path: Path, trials: Sequence[Trial]) -> list[Row]:
    """Facts of the first run that can still be read, and what the study says of the machine."""
    rows = []
    for name, value in (record.outcome.machine if record.outcome is not None else {}).items():
        shown = scalar(value, "bytes" if "bytes" in name else "")
        rows.append(Row(name=f"machine.{name}", value=shown))
    for trial in trials:
        for run in trial.runs:
            try:
                facts = open_run(path / run).facts("before")
            except RecordError:
                continue
            return rows + environment_rows(facts)
    return rows
