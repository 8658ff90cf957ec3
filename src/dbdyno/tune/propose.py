"""Asks a sampler for the next assignment.

The sampler is asked through Optuna's ask interface, on a study that is made anew from the trials each time: scores of
earlier trials change when later anchors show how the machine drifted, and a study that was interrupted must go on as
if it had not been. So a proposal is a pure function of (trials, seed, number). Values told are throughput with write
debt charged, corrected for drift; failed trials are told as failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState, create_trial

from dbdyno.model.contract import Contract
from dbdyno.model.errors import UsageError
from dbdyno.model.knob import Assignment, Knob, KnobSpace
from dbdyno.model.machine import Machine
from dbdyno.model.trial import Trial, TrialKind, TrialStatus
from dbdyno.tune import drift as drifts
from dbdyno.tune import space as spaces
from dbdyno.tune.contract import judge, repair, say
from dbdyno.tune.samplers import make_sampler

# Optuna reports each study on standard error; ours are made by the dozen and reported by us.
optuna.logging.set_verbosity(optuna.logging.WARNING)

TRIES_MAX = 20
JOURNAL = "optuna.journal"


def searched(space: KnobSpace, names: Sequence[str]) -> tuple[Knob, ...]:
    """The knobs of the search: those named, else all that are searched by default and leave a choice."""
    if names:
        return tuple(knob for knob in space.knobs if knob.name in names)
    return tuple(knob for knob in space.knobs if knob.searched and _leaves_a_choice(knob))


def _leaves_a_choice(knob: Knob) -> bool:
    if knob.choices:
        return len(spaces.options(knob)) > 1
    return bool(knob.special) or knob.low != knob.high


def propose(
    trials: Sequence[Trial],
    knobs: Sequence[Knob],
    *,
    space: KnobSpace,
    contract: Contract,
    machine: Machine,
    sampler: str,
    seed: int,
    number: int,
) -> Assignment:
    """The next assignment to try; it keeps the contract. Raises `UsageError` for an unknown sampler, and when nothing
    keeps the contract."""
    drift = drifts.estimate(trials)
    noise, degrees = drifts.repeat_sd([trial for trial in trials if trial.kind in drifts.SEARCHED], drift)
    assignment: Assignment = {}
    for attempt in range(TRIES_MAX):
        made = make_sampler(
            sampler,
            seed=(seed * 1_000_003 + number) * TRIES_MAX + attempt,
            knobs=tuple(knobs),
            # The spread of a handful of repeats says little; then the sampler judges the noise itself.
            noise=noise if degrees >= 3 and noise > 0 else None,
        )
        study = optuna.create_study(direction="maximize", sampler=made)
        for told in frozen_trials(trials, knobs, drift):
            study.add_trial(told)
        assignment = spaces.rounded(spaces.suggest(study.ask(), knobs), knobs)
        if judge(assignment, space, contract, machine):
            assignment = repair(assignment, space, contract, machine)
        if not judge(assignment, space, contract, machine):
            return assignment
    raise UsageError(
        f"No configuration within the contract was found in {TRIES_MAX} tries.",
        found=say(judge(assignment, space, contract, machine)),
        todo="allow more memory or a longer recovery in the contract, or search fewer knobs (--knobs)",
    )


def frozen_trials(trials: Sequence[Trial], knobs: Sequence[Knob], drift: drifts.Drift) -> list[FrozenTrial]:
    """What the sampler is told: every measurement of the search, repeats included, and every failure."""
    told: list[FrozenTrial] = []
    for trial in trials:
        if trial.kind not in drifts.SEARCHED:
            continue
        params = spaces.parameters(trial.assignment, knobs)
        if trial.status is TrialStatus.FAILED:
            told.append(_frozen(params, knobs, None))
        elif trial.status is TrialStatus.REJECTED and not trial.tps_charged:
            continue
        elif trial.status in (TrialStatus.KEPT, TrialStatus.REJECTED):
            # The score is below the charged throughput where the response time broke the contract's limit.
            lowered = (trial.score or 0.0) / trial.tps_charged if trial.tps_charged else 1.0
            told.append(_frozen(params, knobs, drifts.corrected(trial, drift) * lowered))
    return told


def _frozen(params: dict[str, Any], knobs: Sequence[Knob], value: float | None) -> FrozenTrial:
    every = spaces.distributions(knobs)
    return create_trial(
        params=params,
        distributions={name: every[name] for name in params},
        value=value,
        state=TrialState.FAIL if value is None else TrialState.COMPLETE,
    )


def copy_to_journal(folder: Path, trials: Sequence[Trial], knobs: Sequence[Knob]) -> None:
    """Keeps a copy of the search for Optuna's own tools (dashboard, importances), made anew from the trials.

    It is not read again. Throughput in it is corrected for the drift as it is known now.
    """
    file = folder / JOURNAL
    file.unlink(missing_ok=True)
    storage = JournalStorage(JournalFileBackend(str(file)))
    study = optuna.create_study(direction="maximize", storage=storage, study_name=folder.name)
    for told in frozen_trials(trials, knobs, drifts.estimate(trials)):
        study.add_trial(told)


def is_search(trial: Trial) -> bool:
    """Whether a trial spends the budget of the search."""
    return trial.kind in (TrialKind.BASELINE, TrialKind.SEARCH)
