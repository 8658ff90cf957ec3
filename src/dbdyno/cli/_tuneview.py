"""What `dyno tune` prints: one line a trial while it runs, a table and the verdicts at the end."""

from __future__ import annotations

import math
import statistics
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dbdyno.crash.prove import Watcher
from dbdyno.crash.store import CrashFolder
from dbdyno.model.crash import StateResult
from dbdyno.model.fact import Scalar
from dbdyno.model.finding import Verdict
from dbdyno.model.record import to_json
from dbdyno.model.target import Permission, Target
from dbdyno.model.trial import Comparison, StudyOutcome, StudyPlan, Trial, TrialKind, TrialStatus
from dbdyno.report.comparing import interval_text
from dbdyno.report.crash import state_line
from dbdyno.tune import confirm, search
from dbdyno.tune import drift as drifts
from dbdyno.tune.propose import is_search, searched
from dbdyno.tune.setup import Ground
from dbdyno.tune.study import Study
from dbdyno.tune.trial import Step

_FIGURES = {
    "tps_charged": "throughput with deferred writes charged",
    "tps": "throughput",
    "rate_p99_ms": "99th percentile at the fixed rate",
    "write_bytes_per_transaction": "bytes written for a transaction",
}
_WHY_MAX = 200
"""Longest words about what a trial was made for; all of them are in the report."""


class View:
    """Words for people, or JSON lines for programs."""

    def __init__(self, out: Console, err: Console, plan: StudyPlan, *, json_lines: bool) -> None:
        self.out = out
        self.err = err
        self.plan = plan
        self.json_lines = json_lines
        self._loaded = ""

    # Before the trials.

    def opening(self, path: Path) -> None:
        if self.json_lines:
            return
        plan, contract = self.plan, self.plan.contract
        promises = [
            name
            for name, holds in (
                ("point-in-time recovery", contract.pitr),
                ("replication", contract.replication),
                ("maintenance", contract.maintenance),
            )
            if holds
        ]
        self.say(f"study     {plan.name}, seed {plan.seed}, in {path}")
        self.say(
            f"target    {plan.target.label}, {plan.workload.name} scale {plan.workload.scale}, {plan.threads} threads"
        )
        self.say(
            f"contract  {contract.level.name}, {', '.join(promises) or 'nothing else'}, "
            f"recovery within {contract.recovery_s_max:g} s"
        )

    def loading(self, event: Mapping[str, Any]) -> None:
        """A line for each step of the load, on standard error."""
        if event.get("event") != "progress" or event.get("step") == self._loaded:
            return
        self._loaded = str(event.get("step"))
        self.err.print(f"loading   {escape(self._loaded)}")

    def begin(self, study: Study) -> None:
        if self.json_lines:
            return
        names = ", ".join(knob.name for knob in study.knobs)
        self.say(f"search    {len(study.knobs)} knobs: {names}")
        if study.bench.needed:
            needed = ", ".join(f"{name} = {value}" for name, value in study.bench.needed.items())
            self.say(f"always    {needed} (the contract needs it)")
        for note in study.bench.controller.standing:
            self.say(f"doubt     {note.says}")
        if study.trials:
            self.say(f"resumed   after {len(study.trials)} trials")
        self.say("")
        self.say("  no kind       what        charged tps  of default   best     time left")

    # Each trial.

    def step(self, step: Step, trials: Sequence[Trial]) -> None:
        if self.out.is_terminal and not self.json_lines:
            self.out.print(f"{len(trials) + 1:4d} {step.kind:<10} {step.name:<11} …", end="\r", markup=False)

    def trial(self, trial: Trial, trials: Sequence[Trial]) -> None:
        if self.json_lines:
            click.echo(to_json(trial).decode())
            return
        charged = f"{trial.tps_charged:10.1f}" if trial.tps_charged else f"{'-':>10}"
        base, best = search.default_tps(trials), search.incumbent(trials)
        ratio = f"x{trial.tps_charged / base:.2f}" if trial.tps_charged and base else "-"
        top = f"x{math.exp(best.log_mean) / base:.2f}" if best and base else "-"
        width = 29 if trial.kind is TrialKind.ABLATION else 11
        what = f"{trial.number:4d} {trial.kind:<10} {trial.name[:29]:<{width}}"
        self.say(f"{what} {charged}   {ratio:>8}  {top:>8}   {self._left(trials):>10}" + _remark(trial))

    def _left(self, trials: Sequence[Trial]) -> str:
        """A guess from what a trial took so far."""
        plan = self.plan
        seconds = [trial.seconds for trial in trials if trial.status is TrialStatus.KEPT]
        if not seconds:
            return ""
        searching = max(0, plan.trials_max - sum(is_search(trial) for trial in trials))
        confirmed = sum(trial.kind is TrialKind.CONFIRM for trial in trials)
        ablated = sum(trial.kind is TrialKind.ABLATION for trial in trials)
        late = max(0, 3 * plan.confirm_pairs - confirmed)
        runs = searching * 1.2 + (2 * plan.finals if searching else 0) + late
        runs += max(0, plan.ablate_runs_max - ablated) if plan.ablate else 0
        left = runs * statistics.median(seconds) + late * plan.rate_s
        if plan.time_limit_s:
            left = min(left, max(0.0, plan.time_limit_s - sum(trial.seconds for trial in trials)))
        return f"{left / 60:.0f} min" if left >= 90 else f"{left:.0f} s"

    def patience(self) -> None:
        self.err.print("putting the server back; please wait")

    def interrupted(self, study: Study) -> None:
        self.err.print(
            f"interrupted after {len(study.trials)} trials; go on with: dyno tune --resume {study.bench.plan.name}"
        )
        if study.outcome.error:
            self.err.print(study.outcome.error, markup=False)

    # At the end.

    def summary(self, study: Study, outcome: StudyOutcome, report: Path | None) -> None:
        if self.json_lines:
            click.echo(to_json(outcome).decode())
            return
        self.say("")
        self._table(study)
        self._comparisons(outcome)
        self._noise(outcome)
        self._contract(outcome.contract)
        self._winner(study, outcome)
        if outcome.error:
            self.say(outcome.error)
        self.say(f"study     {study.bench.store.path}")
        if report:
            self.say(f"report    {report}")

    def _table(self, study: Study) -> None:
        rate = confirm.fixed_rate(study.trials, study.bench.plan.rate_fraction)
        table = Table(box=None, pad_edge=False)
        for column in ("", "runs", "tps", "charged tps", f"p99 at {rate:g}/s, ms", "bytes written/tx", "log bytes/tx"):
            table.add_column(column, justify="left" if not column else "right")
        for name, trials in _arms(study).items():
            figures = [
                _median(trials, lambda trial: trial.tps, "{:.1f}"),
                _median(trials, lambda trial: trial.tps_charged, "{:.1f}"),
                _median(trials, lambda trial: trial.rate_p99_ms, "{:.2f}"),
                _median(trials, lambda trial: trial.write_bytes_per_transaction, "{:.0f}"),
                _median(trials, lambda trial: trial.wal_bytes_per_transaction, "{:.0f}"),
            ]
            table.add_row(name, str(len(trials)), *figures)
        self.out.print(table)

    def _comparisons(self, outcome: StudyOutcome) -> None:
        if not outcome.comparisons:
            self.say("not confirmed: " + ("nothing beat the default" if not outcome.winner else "no pairs were run"))
        for one in outcome.comparisons:
            if one.figure in ("tps_charged", "rate_p99_ms"):
                self.say("confirmed " + _compared(one))

        if outcome.validation and outcome.winner:
            self.say(f"long run  {outcome.validation['verdict']}: {outcome.validation['says']}")

    def _noise(self, outcome: StudyOutcome) -> None:
        noise, words = outcome.noise, []
        if isinstance(noise.get("aa_log_ratio_sd"), float):
            words.append(
                f"A/A pairs differ by {noise['aa_log_ratio_sd']:.1%} (standard deviation, {noise['aa_pairs']} pairs)"
            )
        if isinstance(noise.get("repeat_cv"), float):
            words.append(f"repeats in the search by {noise['repeat_cv']:.1%}, drift {noise['drift_span']:.1%}")
        if words:
            self.say("noise     " + "; ".join(words))

    def _contract(self, facts: Mapping[str, Scalar]) -> None:
        def verdict(name: str) -> str:
            return str(facts.get(name, "unknown"))

        self.say(f"contract  {facts.get('level')}: settings {verdict('static')}, read back {verdict('read_back')}")
        self.say(f"          recovery {verdict('recovery')}: {facts.get('recovery_says', '')}")
        if "p99" in facts:
            self.say(f"          p99 {verdict('p99')}: {facts.get('p99_ms', 'not measured')} ms")
        self.say(f"          power loss {verdict('power_loss')}: {facts.get('power_loss_says', 'not run')}")
        if facts.get("power_loss") != Verdict.PASS:
            self.say("          so nobody calls this configuration safe")

    def _winner(self, study: Study, outcome: StudyOutcome) -> None:
        if not outcome.winner:
            return
        self.say("")
        self.say(outcome.configuration_file.rstrip())
        self.say("")
        self.say(f"apply     {study.bench.store.path / 'winner.conf'} or winner.sql")

    # Without doing anything.

    def dry_sandbox(self) -> None:
        plan = self.plan
        self.say(f"would tune {plan.target.label} with {plan.trials_max} configurations of {plan.workload.name}")
        self.say(
            "each trial: reset the dataset, write the configuration, start, "
            f"{plan.warmup_s:g} s + {plan.measure_s:g} s of load, flush, stop"
        )
        self.say("a sandbox is ours: nothing else is touched")

    def dry_foreign(self, ground: Ground, target: Target) -> None:
        """What would be done to somebody's server, in the server's own language."""
        restart = ground.controller.can_restart
        self.say(f"would tune {target.label}; nothing was changed")
        missing = sorted({Permission.LOAD, Permission.TUNE} - target.allow)
        self.say("allowed:  " + (", ".join(sorted(target.allow)) or "reading only"))
        if missing:
            self.say("missing:  --allow " + ",".join(missing))
        self.say(f"load:     {self.plan.workload.name} scale {self.plan.workload.scale}, into {target.database}")
        self.say(
            f"restart:  {target.restart_command or 'no restart_command in the target file: such knobs are left out'}"
        )
        self.say("undo:     settings go back at the end; after a kill with dyno tune --restore " + self.plan.name)
        self.say("knobs:")
        for knob in searched(ground.space, self.plan.knobs):
            if knob.change == "online" or restart:
                values = ", ".join(map(str, knob.choices)) or f"{knob.low:g} to {knob.high:g} {knob.unit}"
                special = f", or {', '.join(map(str, knob.special))}" if knob.special else ""
                self.say(f"  {knob.name:<32} {values}{special}; now {knob.default} ({knob.change})")
        for advice in ground.engine.advice(ground.machine, ground.version):
            self.say(f"first trial {advice.name}:")
            for statement in ground.engine.render(advice.assignment)[1]:
                self.say("  " + statement)

    # The power-loss proof of the winner.

    def proof_begins(self, folder: CrashFolder) -> None:
        self.note(f"power-loss proof of the winner: {folder.path}")

    def proof_watcher(self) -> Watcher:
        """Progress on standard error, so that JSON lines stay those of the study."""

        def state(result: StateResult, done: int, total: int) -> None:
            if result.verdict is not Verdict.PASS or done % 10 == 0 or done == total:
                self.note(f"  {done}/{total}  {state_line(result)}")

        return Watcher(on_step=lambda _arm, says: self.note(f"  {says}"), on_state=state)

    def note(self, text: str) -> None:
        self.err.print(text, markup=False)

    def say(self, text: str) -> None:
        self.out.print(text, markup=False)


def _remark(trial: Trial) -> str:
    if trial.status is TrialStatus.FAILED:
        return "   failed: " + trial.error.splitlines()[0]
    said = []
    if trial.status is TrialStatus.DOUBTED:
        said.append("doubted: " + ", ".join(str(note.doubt) for note in trial.doubts if note.doubt.grave))
    elif trial.says:
        said.append(trial.says)
    if trial.cause:
        said.append(textwrap.shorten(f"against {trial.cause}: {trial.why}", _WHY_MAX, placeholder=" …"))
    return "   " + "; ".join(said) if said else ""


def _arms(study: Study) -> dict[str, list[Trial]]:
    """Runs of each arm: those of the confirmation, where there were none those of the search."""
    trials = study.trials
    arms: dict[str, list[Trial]] = {}
    names = [*study.baselines.assignments, confirm.WINNER]
    winner = search.winner(trials)
    for name in names:
        runs = [t for t in trials if t.kind is TrialKind.CONFIRM and t.name == name and t.tps]
        if not runs and name == confirm.WINNER and winner is not None:
            runs = [t for t in trials if t.assignment == winner.assignment and drifts.believed(t)]
        elif not runs:
            runs = [t for t in trials if search.baseline_name(t) == name and t.tps]
        if runs:
            arms[name] = runs
    return arms


def _median(trials: Sequence[Trial], figure: Callable[[Trial], float | None], form: str) -> str:
    values = [value for trial in trials if (value := figure(trial)) is not None]
    return form.format(statistics.median(values)) if values else "-"


def _compared(one: Comparison) -> str:
    figure = _FIGURES.get(one.figure, one.figure)
    return f"{one.b} / {one.a}: x{one.ratio:.2f} ({interval_text(one)}) in {figure}: {one.verdict} ({one.says})"
