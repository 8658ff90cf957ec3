"""One trial: a fresh server with an assignment, a measured load, and what the server had put off.

**Write debt.** A server with a large log and long checkpoint intervals looks fast in a short run because it writes its
changed pages later. So after the load every trial makes the server write all that it has deferred (a checkpoint), and
the time that this takes counts as if no work had been done in it:

    tps_charged = transactions / (seconds + drain_s)

This is conservative against deferring. In a long run the server overlaps these writes with transactions, so the true
long-run throughput lies between `tps_charged` and `tps`; and what the warm-up left unwritten is charged to the measured
stretch too. Whoever wins here did not win by flushing later. All arms start from the same dataset and the same
checkpoint age (a clean start), and are charged by the same rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from dbdyno.model.clock import Clock
from dbdyno.model.contract import Contract
from dbdyno.model.engine import Debt
from dbdyno.model.errors import DynoError
from dbdyno.model.fact import Scalar
from dbdyno.model.knob import Assignment, KnobSpace
from dbdyno.model.plan import Arrivals, LoopMode, Phase, Plan
from dbdyno.model.run import Doubt, DoubtNote, Outcome, PhaseOutcome, RunStatus
from dbdyno.model.trial import Cause, StudyPlan, Trial, TrialKind, TrialStatus
from dbdyno.tune import contract as contracts
from dbdyno.tune.control import Controller
from dbdyno.tune.disk_moment import disk_of, slow
from dbdyno.tune.drift import SEARCHED, believed
from dbdyno.tune.machine_probe import odd
from dbdyno.tune.store import StudyStore

PROBE_TRIES = 3
PROBE_WAIT_S = 3.0
RATE_WARMUP_S = 2.0
"""Before the open-loop phase, at its rate: connections and plans warm up."""


@dataclass(frozen=True)
class Step:
    """What to measure next."""

    kind: TrialKind
    name: str
    assignment: Assignment
    rate_per_s: float = 0.0
    """Also an open-loop phase at this rate; 0: none."""
    measure_s: float = 0.0
    """Length of the closed loop; 0: the study's."""
    floor_tps: float = 0.0
    """Cut the run short when it is clearly below this throughput; 0: never."""
    second: bool = False
    """Whether it was doubted already. A noisy machine is then taken as it is: it will not get quieter, and intervals
    and repeats say how noisy it is. Other grave doubts stay."""
    cause: str = ""
    """Id of the cause that it is to mend; see `dbdyno.tune.guide`."""
    why: str = ""
    """The evidence for that cause."""


@dataclass(frozen=True)
class Bench:
    """All that a trial stands on."""

    plan: StudyPlan
    space: KnobSpace
    contract: Contract
    needed: Assignment
    """What the contract needs beside any assignment."""
    controller: Controller
    store: StudyStore
    clock: Clock
    probe: Callable[[], dict[str, Scalar]]
    explain: Callable[[Path], tuple[Cause, ...] | None] | None = None
    """Says what held a recorded run back; None where nobody asks."""


def run_trial(bench: Bench, number: int, step: Step, earlier: Sequence[Trial]) -> Trial:
    """Measures one assignment. What the configuration or the server did wrong is in the trial; only an interruption
    and mistakes of ours are raised."""
    started, started_unix_s = bench.clock.monotonic(), bench.clock.unix()
    figures, moment = _wait_for_a_usual_moment(bench, earlier)
    trial = Trial(
        number=number,
        kind=step.kind,
        name=step.name,
        assignment=step.assignment,
        status=TrialStatus.FAILED,
        machine_probe=figures,
        started_unix_s=started_unix_s,
        doubts=(*bench.controller.standing, *moment),
        cause=step.cause,
        why=step.why,
    )
    runs: list[str] = []
    try:
        try:
            trial = _measured(bench, trial, step, runs)
        finally:
            bench.controller.stop()
    except DynoError as error:
        trial = msgspec.structs.replace(trial, status=TrialStatus.FAILED, error=str(error))
    if not step.second:
        trial = _at_its_moment(trial, earlier)
    elif trial.status is TrialStatus.DOUBTED and _only_noisy(trial):
        trial = msgspec.structs.replace(
            trial, status=TrialStatus.KEPT, says="noisy the second time too: taken as it is"
        )
    causes = _causes(bench, trial, runs)
    return msgspec.structs.replace(trial, runs=tuple(runs), causes=causes, seconds=bench.clock.monotonic() - started)


def _at_its_moment(trial: Trial, earlier: Sequence[Trial]) -> Trial:
    """Doubted when the disk was slow while it ran, also when it was cut short for being slow."""
    known = [one.disk for one in earlier if one.status is TrialStatus.KEPT and one.disk]
    if trial.status not in (TrialStatus.KEPT, TrialStatus.REJECTED) or not (reason := slow(trial.disk, known)):
        return trial
    note = DoubtNote(doubt=Doubt.NOISY_NEIGHBOUR, says=reason, helps="see what else uses the disk")
    return msgspec.structs.replace(trial, status=TrialStatus.DOUBTED, doubts=(*trial.doubts, note))


def _causes(bench: Bench, trial: Trial, runs: Sequence[str]) -> tuple[Cause, ...] | None:
    """What held the trial back, from the record of its closed loop; only for what may become the incumbent."""
    if bench.explain is None or not runs or not believed(trial):
        return None
    return bench.explain(bench.store.path / runs[0])


def _only_noisy(trial: Trial) -> bool:
    return {note.doubt for note in trial.doubts if note.doubt.grave} <= {Doubt.NOISY_NEIGHBOUR}


def _wait_for_a_usual_moment(bench: Bench, earlier: Sequence[Trial]) -> tuple[dict[str, Scalar], list[DoubtNote]]:
    known = [trial.machine_probe for trial in earlier if trial.machine_probe]
    figures: dict[str, Scalar] = {}
    reason = ""
    for attempt in range(PROBE_TRIES):
        figures = bench.probe()
        reason = odd(figures, known)
        if not reason:
            return figures, []
        if attempt < PROBE_TRIES - 1:
            bench.clock.sleep(PROBE_WAIT_S)
    note = DoubtNote(
        doubt=Doubt.NOISY_NEIGHBOUR, says=f"before the trial {reason}", helps="see what else runs on this machine"
    )
    return figures, [note]


def _measured(bench: Bench, trial: Trial, step: Step, runs: list[str]) -> Trial:
    started = bench.controller.start({**bench.needed, **step.assignment})
    if started.differing:
        found = ", ".join(f"{name} is {value}" for name, value in sorted(started.differing.items()))
        return _failed(trial, f"The server does not run with what was asked for: {found}.")
    if breaches := contracts.judge_effective(started.settings, bench.space, bench.contract):
        return _failed(trial, f"The server as it runs breaks the contract: {contracts.say(breaches)}.")

    screen = Screen(step.floor_tps, bench.plan.measure_s)
    stop = screen if step.floor_tps else None
    outcome = bench.controller.measure(
        _plan(bench, trial, closed(bench.plan, step.measure_s)), _folder(bench, trial, "", runs), stop
    )
    if outcome.status is RunStatus.FAILED:
        return _failed(trial, outcome.error or "The run failed without a word.")
    debt = bench.controller.settle()
    trial = score(trial, outcome, debt)
    if outcome.status is RunStatus.INTERRUPTED and not screen.cut:
        raise KeyboardInterrupt
    if screen.cut:
        return msgspec.structs.replace(trial, status=TrialStatus.REJECTED, says=screen.says)
    if step.rate_per_s > 0 and bench.plan.rate_s > 0 and trial.status is not TrialStatus.FAILED:
        plan = _plan(bench, trial, at_rate(bench.plan, step.rate_per_s))
        rated = bench.controller.measure(plan, _folder(bench, trial, "-rate", runs))
        if rated.status is RunStatus.FAILED:
            return _failed(trial, rated.error or "The run at the fixed rate failed without a word.")
        if rated.status is RunStatus.INTERRUPTED:
            raise KeyboardInterrupt
        trial = _with_rate(trial, rated, bench.contract.p99_ms_max)
    return trial


def _failed(trial: Trial, error: str) -> Trial:
    return msgspec.structs.replace(trial, status=TrialStatus.FAILED, error=error)


class Screen:
    """Cuts short what is clearly worse than the incumbent, so that its time goes to better candidates.

    It looks at throughput before write debt is charged, which flatters whoever defers: nothing good is cut for it.
    """

    def __init__(self, floor_tps: float, measure_s: float) -> None:
        self.floor_tps = floor_tps
        self.after_s = max(2.0, measure_s * 0.4)
        self.cut = False
        self.says = ""
        self._count = 0.0
        self._seconds = 0.0

    def __call__(self, interval: Mapping[str, Any]) -> bool:
        if interval.get("event") != "interval" or interval.get("phase") != "measure" or self.cut:
            return self.cut
        self._seconds += float(interval["seconds"])
        self._count += sum(kind["count"] for kind in interval["transactions"].values())
        if self._seconds >= self.after_s and self._count / self._seconds < self.floor_tps:
            self.cut = True
            tps = self._count / self._seconds
            self.says = f"cut short after {self._seconds:.0f} s: {tps:.0f} tps, below {self.floor_tps:.0f}"
        return self.cut


def closed(plan: StudyPlan, measure_s: float = 0.0) -> tuple[Phase, ...]:
    """The closed-loop phases of a trial, measured for so many seconds (0: as the study says)."""
    warmup = (Phase(name="warmup", time_s=plan.warmup_s, measured=False),) if plan.warmup_s > 0 else ()
    return (*warmup, Phase(name="measure", time_s=measure_s or plan.measure_s))


def at_rate(plan: StudyPlan, rate_per_s: float) -> tuple[Phase, ...]:
    """The open-loop phases: arrivals at random with a fixed mean rate, so that waiting counts as response time."""

    def phase(name: str, time_s: float, measured: bool) -> Phase:
        return Phase(
            name=name,
            mode=LoopMode.OPEN,
            time_s=time_s,
            rate_per_s=rate_per_s,
            arrivals=Arrivals.POISSON,
            measured=measured,
        )

    return (phase("rate-warmup", RATE_WARMUP_S, False), phase("rate", plan.rate_s, True))


def _plan(bench: Bench, trial: Trial, phases: tuple[Phase, ...]) -> Plan:
    study = bench.plan
    return Plan(
        # A sandbox may get another port at each start.
        target=bench.controller.target,
        workload=study.workload,
        threads=study.threads,
        # The same seed for all trials: every arm gets the same stream of transactions.
        seed=study.seed,
        phases=phases,
        title=f"{study.name}, trial {trial.number}: {trial.kind} {trial.name}".strip(),
        labels={"study": study.name, "trial": str(trial.number), "kind": trial.kind, "arm": trial.name},
        command=study.command,
    )


def _folder(bench: Bench, trial: Trial, suffix: str, runs: list[str]) -> Any:
    name = "-".join(part for part in (f"{trial.number:04d}", trial.kind, trial.name) if part) + suffix
    folder = bench.store.run_folder(name)
    runs.append(str(folder.relative_to(bench.store.path)))
    return folder


def charged_tps(transactions: int, seconds: float, drain_s: float) -> float:
    """Throughput with write debt charged; see the module's words."""
    return transactions / (seconds + drain_s) if seconds + drain_s > 0 else 0.0


def score(trial: Trial, outcome: Outcome, debt: Debt) -> Trial:
    """The trial with its figures."""
    measured = [phase for phase in outcome.phases if phase.measured]
    count = sum(phase.count for phase in measured)
    seconds = sum(phase.seconds for phase in measured)
    if not count or seconds <= 0:
        return _failed(trial, "The run made no transaction.")
    tps_charged = charged_tps(count, seconds, debt.seconds)
    doubts = (*trial.doubts, *outcome.doubts)
    return msgspec.structs.replace(
        trial,
        status=TrialStatus.DOUBTED if any(note.doubt.grave for note in doubts) else TrialStatus.KEPT,
        score=tps_charged,
        tps=count / seconds,
        tps_charged=tps_charged,
        measured_s=seconds,
        drain_s=debt.seconds,
        p99_ms=_p99_ms(measured),
        disk=disk_of(outcome.server, seconds),
        write_bytes_per_transaction=_per_transaction(
            _sum(outcome.server.get("write_bytes"), debt.written_bytes), count
        ),
        wal_bytes_per_transaction=_per_transaction(_sum(outcome.server.get("wal_bytes")), count),
        doubts=doubts,
    )


def _with_rate(trial: Trial, outcome: Outcome, p99_ms_max: float | None) -> Trial:
    phase = outcome.phase("rate")
    doubts = (*trial.doubts, *(note for note in outcome.doubts if note not in trial.doubts))
    doubted = any(note.doubt.grave for note in doubts)
    trial = msgspec.structs.replace(
        trial,
        rate_p99_ms=phase.response.p99_us / 1e3 if phase and phase.count else None,
        doubts=doubts,
        status=TrialStatus.DOUBTED if doubted else trial.status,
    )
    if trial.kind not in SEARCHED or p99_ms_max is None or (trial.rate_p99_ms or 0.0) <= p99_ms_max or doubted:
        return trial
    # Lowered, not thrown away: the search learns in which direction the limit is kept.
    return msgspec.structs.replace(
        trial,
        status=TrialStatus.REJECTED,
        score=(trial.score or 0.0) * p99_ms_max / (trial.rate_p99_ms or p99_ms_max),
        says=f"99th percentile {trial.rate_p99_ms:.3g} ms at the fixed rate, {p99_ms_max:g} ms allowed",
    )


def _p99_ms(measured: Sequence[PhaseOutcome]) -> float | None:
    longest = max((phase.response.p99_us for phase in measured), default=0.0)
    return longest / 1e3 if longest else None


def _sum(*values: Scalar) -> float | None:
    numbers = [float(value) for value in values if isinstance(value, int | float)]
    return sum(numbers) if numbers else None


def _per_transaction(amount: float | None, count: int) -> float | None:
    return amount / count if amount is not None else None
