"""What to measure next in the search: a pure function of what was measured, so that any study can be resumed.

Order: the server's default, the published formulas, then the sampler, and before it what explains the incumbent's run
(see `dbdyno.tune.guide`). A doubtful trial is measured once more instead
of being believed. About every fifth trial the incumbent is measured again as an anchor of the machine's drift. At the
end the best few candidates are measured again, in turn and back, and the winner is who is best in these repeats: the
first measurement of a maximum is always too good ("The Optimizer's Curse", 2006).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbdyno.model.knob import Assignment
from dbdyno.model.trial import Trial, TrialKind, TrialStatus
from dbdyno.tune import drift as drifts
from dbdyno.tune.propose import is_search
from dbdyno.tune.trial import Step

DEFAULT = "default"
FINAL = "final"
ANCHOR_EVERY = 5
CUT_BELOW = 0.6
"""A run that is below this part of the incumbent's uncharged throughput is cut short."""
FAILURES_MAX = 5
"""So many trials that fail one after another are not the configurations' fault."""


@dataclass(frozen=True)
class Baselines:
    """Assignments by name, in the order in which they are measured; the default comes first."""

    assignments: Mapping[str, Assignment]


def doubt_to_settle(trials: Sequence[Trial]) -> Step | None:
    """The last trial again when it was doubtful and not itself the second attempt."""
    if not trials:
        return None
    last = trials[-1]
    if last.status is not TrialStatus.DOUBTED or last.kind not in drifts.SEARCHED:
        return None
    if last.kind is TrialKind.REPEAT and (last.name != FINAL or _second_attempt(trials)):
        return None
    return Step(TrialKind.REPEAT, last.name, last.assignment, second=True, cause=last.cause, why=last.why)


def _second_attempt(trials: Sequence[Trial]) -> bool:
    """Whether the trial before is the same final, doubted as well."""
    if len(trials) < 2:
        return False
    last, before = trials[-1], trials[-2]
    return before.status is TrialStatus.DOUBTED and drifts.same_key(before) == drifts.same_key(last)


def baseline_step(trials: Sequence[Trial], baselines: Baselines) -> Step | None:
    measured = {trial.name for trial in trials if trial.kind is TrialKind.BASELINE}
    for name, assignment in baselines.assignments.items():
        if name not in measured:
            return Step(TrialKind.BASELINE, name, dict(assignment))
    return None


def wants_anchor(trials: Sequence[Trial]) -> bool:
    since = 0
    for trial in reversed(trials):
        if trial.kind is TrialKind.ANCHOR:
            break
        since += 1
    return since >= ANCHOR_EVERY and incumbent(trials) is not None


def search_is_over(trials: Sequence[Trial], trials_max: int) -> bool:
    """Whether the budget is spent, or the finals have begun."""
    finals = any(trial.kind is TrialKind.REPEAT and trial.name == FINAL for trial in trials)
    return finals or sum(is_search(trial) for trial in trials) >= trials_max


def failing(trials: Sequence[Trial]) -> bool:
    """Whether the last trials all failed: then something else than the configurations is broken."""
    last = trials[-FAILURES_MAX:]
    return len(last) == FAILURES_MAX and all(trial.status is TrialStatus.FAILED for trial in last)


@dataclass(frozen=True)
class Candidate:
    """One assignment and what its believed measurements say together."""

    assignment: Assignment
    name: str
    number: int
    """Of its first trial."""
    log_mean: float
    """Mean log throughput, charged and corrected for drift."""
    measured: int


def candidates(trials: Sequence[Trial]) -> list[Candidate]:
    """All believed assignments, best first."""
    drift = drifts.estimate(trials)
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        if drifts.believed(trial):
            groups.setdefault(drifts.same_key(trial), []).append(trial)
    found = [
        Candidate(
            assignment=dict(group[0].assignment),
            name=next((name for trial in group if (name := baseline_name(trial))), ""),
            number=group[0].number,
            log_mean=statistics.fmean(math.log(drifts.corrected(trial, drift)) for trial in group),
            measured=len(group),
        )
        for group in groups.values()
    ]
    return sorted(found, key=lambda candidate: -candidate.log_mean)


def incumbent(trials: Sequence[Trial]) -> Candidate | None:
    """The best so far."""
    found = candidates(trials)
    return found[0] if found else None


def floor_tps(trials: Sequence[Trial]) -> float:
    """Uncharged throughput below which a run is cut short; 0 when there is no incumbent."""
    best = incumbent(trials)
    if best is None:
        return 0.0
    key = drifts.same_key(next(trial for trial in trials if trial.number == best.number))
    tps = [trial.tps for trial in trials if drifts.same_key(trial) == key and drifts.believed(trial) and trial.tps]
    return CUT_BELOW * min(tps) if tps else 0.0


def finals_order(trials: Sequence[Trial], *, count: int, rounds: int) -> list[Candidate]:
    """The best candidates in turn and back: a b c, c b a. Fixed when the search ends."""
    first_final = next(
        (i for i, trial in enumerate(trials) if trial.kind is TrialKind.REPEAT and trial.name == FINAL), len(trials)
    )
    best = candidates(trials[:first_final])[:count]
    if len(best) < 2:
        return []
    order: list[Candidate] = []
    for turn in range(rounds):
        order += best if turn % 2 == 0 else best[::-1]
    return order


def finals_step(trials: Sequence[Trial], *, count: int, rounds: int) -> Step | None:
    """The next repeat of a finalist; None when they are done."""
    done = 0
    finals = [trial for trial in trials if trial.kind is TrialKind.REPEAT and trial.name == FINAL]
    for index, trial in enumerate(finals):
        # A doubted final and its second attempt fill one place.
        again = index > 0 and finals[index - 1].status is TrialStatus.DOUBTED
        again = again and drifts.same_key(finals[index - 1]) == drifts.same_key(trial)
        done += 0 if again else 1
    order = finals_order(trials, count=count, rounds=rounds)
    if done >= len(order):
        return None
    return Step(TrialKind.REPEAT, FINAL, order[done].assignment)


def winner(trials: Sequence[Trial]) -> Candidate | None:
    """Who is best in the finals; where there were none, the best of all."""
    drift = drifts.estimate(trials)
    logs: dict[str, list[float]] = {}
    for trial in trials:
        if trial.kind is TrialKind.REPEAT and trial.name == FINAL and drifts.believed(trial):
            logs.setdefault(drifts.same_key(trial), []).append(math.log(drifts.corrected(trial, drift)))
    if not logs:
        return incumbent(trials)
    best = max(logs, key=lambda key: statistics.fmean(logs[key]))
    first = next(trial for trial in trials if drifts.same_key(trial) == best)
    named = next((name for t in trials if drifts.same_key(t) == best and (name := baseline_name(t))), "")
    return Candidate(dict(first.assignment), named, first.number, statistics.fmean(logs[best]), len(logs[best]))


def baseline_name(trial: Trial) -> str:
    """Of the baseline that the trial measured, for the first time or again; else empty."""
    if trial.kind is TrialKind.BASELINE or (trial.kind is TrialKind.REPEAT and trial.name != FINAL):
        return trial.name
    return ""


def best_formula(trials: Sequence[Trial]) -> Trial | None:
    """The best believed baseline other than the default."""
    drift = drifts.estimate(trials)
    formulas = [trial for trial in trials if baseline_name(trial) not in ("", DEFAULT) and drifts.believed(trial)]
    return max(formulas, key=lambda trial: drifts.corrected(trial, drift), default=None)


def default_tps(trials: Sequence[Trial]) -> float:
    """Charged throughput of the server's default, doubted only if there is nothing better; 0 when it failed."""
    measured = [trial for trial in trials if baseline_name(trial) == DEFAULT and trial.tps_charged]
    good = [trial for trial in measured if drifts.believed(trial)] or measured
    return statistics.fmean(trial.tps_charged or 0.0 for trial in good) if good else 0.0
