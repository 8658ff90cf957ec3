"""A whole study: search, confirm, crash, ablate; interruptible at any moment and resumable by name.

The next step is always computed from the trials so far, never kept in memory, so going on after an interruption is the
same as not having been interrupted.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from dbdyno.model.contract import Contract
from dbdyno.model.errors import DynoError, TargetError
from dbdyno.model.fact import Scalar
from dbdyno.model.knob import Advice, Assignment, Knob, KnobSpace, Setting
from dbdyno.model.machine import Machine
from dbdyno.model.plan import Phase
from dbdyno.model.trial import StudyOutcome, Trial, TrialKind, TrialStatus
from dbdyno.tune import ablate, confirm, guide, propose, search, validate, verdict
from dbdyno.tune import contract as contracts
from dbdyno.tune.control import Recovery
from dbdyno.tune.proof import Prover, proven
from dbdyno.tune.trial import Bench, Step, run_trial
from dbdyno.tune.verdict import Render

SHORT_STUDY = 16
"""Up to so many trials two candidates come into the finals, above three."""


@dataclass
class Study:
    """State of a study that runs: everything that decides is in `trials`."""

    bench: Bench
    advice: Sequence[Advice]
    machine: Machine
    render: Render
    """The engine's way of writing a configuration down."""
    trials: list[Trial]
    on_trial: Callable[[Trial, Sequence[Trial]], None] = lambda _trial, _trials: None
    on_step: Callable[[Step, Sequence[Trial]], None] = lambda _step, _trials: None
    prover: Prover | None = None
    """Cuts the power of the winner at the end; None where that is not ours to do."""
    outcome: StudyOutcome = field(default_factory=lambda: StudyOutcome(status="running"))

    # --- the loop

    def run(self) -> StudyOutcome:
        """Goes on until the study is done. Whatever happens, the server is put back and the folder can be resumed."""
        status = "failed"
        try:
            self._all_steps()
            status = "done"
        except KeyboardInterrupt:
            status = "interrupted"
            raise
        except DynoError as error:
            self.outcome = msgspec.structs.replace(self.outcome, error=str(error))
            raise
        finally:
            self._close(status)
        return self.outcome

    def _close(self, status: str) -> None:
        left = self.bench.controller.restore()
        said = [self.outcome.error] if self.outcome.error else []
        if left:
            said.append("NOT RESTORED: " + "; ".join(left).upper())
        self.outcome = msgspec.structs.replace(self.outcome, status=status, error="\n".join(said))
        self._write_outcome(status)
        propose.copy_to_journal(self.bench.store.path, self.trials, self.knobs)

    def _all_steps(self) -> None:
        while (step := self.search_step()) is not None:
            self._measure(step)
        winner = search.winner(self.trials)
        if winner is None:
            raise TargetError(
                "No trial of this study can be believed.",
                found="; ".join(sorted({trial.error for trial in self.trials if trial.error})[:3])
                or "all are doubtful",
                todo="see the doubts of the trials, make the trials longer, or find a quieter machine",
            )
        while (step := self.confirm_step()) is not None:
            self._measure(step)
        if step := self.validation_step():
            self._measure(step)
        if "recovery_s" not in self.outcome.contract:
            self._recover(dict(winner.assignment))
        while (step := self.ablation_step()) is not None:
            self._measure(step)
        self._prove(dict(winner.assignment))

    def _measure(self, step: Step) -> None:
        self.on_step(step, self.trials)
        number = len(self.trials) + 1
        breaches = contracts.judge(
            {**self.bench.needed, **step.assignment}, self.bench.space, self.bench.contract, self.machine
        )
        if breaches:
            trial = Trial(
                number=number,
                kind=step.kind,
                name=step.name,
                assignment=step.assignment,
                status=TrialStatus.REJECTED,
                started_unix_s=self.bench.clock.unix(),
                says="not tried, it would break the contract: " + contracts.say(breaches),
                cause=step.cause,
                why=step.why,
            )
        else:
            trial = run_trial(self.bench, number, step, self.trials)
        self.trials.append(trial)
        self.bench.store.append(trial)
        self._write_outcome("running")
        self.on_trial(trial, self.trials)
        if search.failing(self.trials):
            raise TargetError(
                f"The last {search.FAILURES_MAX} trials all failed: it is not their configurations.",
                found=trial.error,
                todo="put right what the server says, then go on with --resume",
            )

    # --- what comes next

    def _fitted(self, advice: Advice) -> Assignment:
        restart = self.bench.controller.can_restart
        return contracts.fit_assignment(advice.assignment, self.bench.space, restart=restart)[0]

    @property
    def knobs(self) -> tuple[Knob, ...]:
        return propose.searched(self.bench.space, self.bench.plan.knobs)

    @property
    def baselines(self) -> search.Baselines:
        """The default, then the formulas as far as this server knows their settings."""
        fitted = {one.name: self._fitted(one) for one in self.advice}
        return search.Baselines({search.DEFAULT: {}, **fitted})

    def search_step(self) -> Step | None:
        """The next trial of the search; None when the winner can be named."""
        trials, plan = self.trials, self.bench.plan
        if step := search.doubt_to_settle(trials):
            return step
        if step := search.baseline_step(trials, self.baselines):
            return self._limited(step)
        if not search.search_is_over(trials, plan.trials_max) and self._time_is_left(self._reserve_s()):
            best = search.incumbent(trials)
            if best is not None and search.wants_anchor(trials):
                return Step(TrialKind.ANCHOR, best.name, best.assignment)
            return self._limited(self._guided() or self._proposal())
        return search.finals_step(trials, count=self._finalists(), rounds=plan.finals)

    def _limited(self, step: Step) -> Step:
        """With a limit of the response time in the contract, the step also measures it at the fixed rate. The default
        comes first: from it the rate is taken."""
        rate = confirm.fixed_rate(self.trials, self.bench.plan.rate_fraction)
        if self.bench.contract.p99_ms_max is None or step.name == search.DEFAULT or rate <= 0:
            return step
        return replace(step, rate_per_s=rate)

    def _finalists(self) -> int:
        return 2 if self.bench.plan.trials_max <= SHORT_STUDY else 3

    def _proposal(self) -> Step:
        bench = self.bench
        assignment = propose.propose(
            self.trials,
            self.knobs,
            space=bench.space,
            contract=bench.contract,
            machine=self.machine,
            sampler=bench.plan.sampler,
            seed=bench.plan.seed,
            number=len(self.trials) + 1,
        )
        return Step(TrialKind.SEARCH, "", assignment, floor_tps=search.floor_tps(self.trials))

    def _guided(self) -> Step | None:
        """A trial for what holds the incumbent back; None when nothing is known or enough were made."""
        bench = self.bench
        if not bench.plan.guide or not guide.budget_is_left(self.trials, bench.plan.trials_max):
            return None
        found = guide.propose(
            self.trials,
            guide.changeable(bench.space, bench.plan.knobs, restart=bench.controller.can_restart),
            space=bench.space,
            contract=bench.contract,
            machine=self.machine,
        )
        if found is None:
            return None
        return Step(
            TrialKind.SEARCH,
            "",
            found.assignment,
            floor_tps=search.floor_tps(self.trials),
            cause=found.cause,
            why=found.why,
        )

    def arms(self) -> list[confirm.Arm]:
        winner = search.winner(self.trials)
        return confirm.arms_of(self.trials, winner) if winner else []

    def confirm_step(self) -> Step | None:
        arms, plan = self.arms(), self.bench.plan
        # With the default itself as the winner there is nothing to confirm.
        if len(arms) < 2 or plan.confirm_pairs < 1 or arms[-1].name != confirm.WINNER:
            return None
        rate = confirm.fixed_rate(self.trials, plan.rate_fraction)
        return confirm.confirm_step(self.trials, arms, plan.confirm_pairs, rate)

    def validation_step(self) -> Step | None:
        """The winner's long run, once it is confirmed."""
        if self.confirm_step() is not None or not self.arms() or self.arms()[-1].name != confirm.WINNER:
            return None
        winner = self.arms()[-1].assignment
        return validate.validation_step(self.trials, winner, self.bench.space, self.bench.plan, confirm.WINNER)

    def ablation_step(self) -> Step | None:
        winner, plan = search.winner(self.trials), self.bench.plan
        if not plan.ablate or winner is None or not winner.assignment or not self._time_is_left(0.0):
            return None
        return ablate.ablation_step(self.trials, winner.assignment, self.bench.space, plan.ablate_runs_max)

    def elapsed_s(self) -> float:
        """Wall time of all trials, over all sittings."""
        return sum(trial.seconds for trial in self.trials)

    def _time_is_left(self, reserve_s: float) -> bool:
        limit = self.bench.plan.time_limit_s
        return limit <= 0 or self.elapsed_s() + reserve_s < limit

    def _reserve_s(self) -> float:
        """What finals, confirmation, the long run and the crash will take, from what trials took so far."""
        plan = self.bench.plan
        seconds = [trial.seconds for trial in self.trials if trial.seconds and trial.status is TrialStatus.KEPT]
        one = statistics.median(seconds) if seconds else plan.warmup_s + plan.measure_s
        finals = self._finalists() * plan.finals
        return one * (finals + 3 * plan.confirm_pairs + 1) + 3 * plan.confirm_pairs * plan.rate_s + plan.validate_s

    # --- what came of it

    def _recover(self, assignment: Assignment) -> None:
        """Crashes the winner under load and times its recovery."""
        bench, plan = self.bench, self.bench.plan
        run = msgspec.structs.replace(
            verdict.empty_plan(plan, bench.controller.target),
            # Longer than needed: the crash ends it.
            phases=(Phase(name="load", time_s=plan.warmup_s + plan.measure_s + 60.0),),
            title=f"{plan.name}: crash under load",
            labels={"study": plan.name, "arm": confirm.WINNER, "kind": "recovery"},
        )
        found: Recovery | None = None
        says = "not measured: a server that is not a sandbox is not crashed"
        try:
            found = bench.controller.recover(
                {**bench.needed, **assignment},
                run,
                bench.store.run_folder("recovery"),
                after_s=plan.warmup_s + plan.measure_s,
            )
        except DynoError as error:
            says = f"could not be measured: {error}"
        finally:
            bench.controller.stop()
        measured: dict[str, Scalar] = {"recovery_s": None, "recovery_says": says}
        if found is not None:
            measured = verdict.recovery(found, assignment, self.trials, bench.space, bench.contract)
        self.outcome = msgspec.structs.replace(self.outcome, contract={**self.outcome.contract, **measured})
        self._write_outcome("running")

    def _prove(self, assignment: Assignment) -> None:
        """The power-loss proof of the winner, unless this study has it already."""
        if self.prover is None or proven(self.outcome.contract):
            return
        self.bench.controller.stop()
        found = self.prover.prove(
            f"{self.bench.plan.name}-proof", {**self.bench.needed, **assignment}, self.bench.space
        )
        self.outcome = msgspec.structs.replace(self.outcome, contract={**self.outcome.contract, **found})
        self._write_outcome("running")

    def _write_outcome(self, status: str) -> None:
        self.outcome = verdict.outcome_of(self, status)
        self.bench.store.write_outcome(self.outcome)
        if self.outcome.winner:
            self.bench.store.write_winner(self.outcome.configuration_file, self.outcome.statements)

    @property
    def space(self) -> KnobSpace:
        return self.bench.space


def prepare_space(
    space: KnobSpace,
    settings: Mapping[str, Setting],
    contract: Contract,
    machine: Machine,
    *,
    restart: bool,
) -> KnobSpace:
    """The space of this very server, within the contract."""
    return contracts.narrow(contracts.fit_to_server(space, settings, restart=restart), contract, machine)
