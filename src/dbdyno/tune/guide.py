"""Trials that are made for a cause: the incumbent with the change that the record of its own run asks for.

A sampler knows throughput and nothing else. The record of each run knows more: what its clients waited for, how full
the log was, who flushed. So what explains a believed run (`dbdyno.explain`) is stored beside its trial, and after the
baselines, and again whenever there is another incumbent, the search first tries what would mend the causes: the
incumbent with the settings of one cause, all together (a time to wait means nothing without the number to wait for),
within their ranges and the contract. First the whole of each change, the most telling cause first; then half of it.
What the default's run shows counts too, where the incumbent left the setting alone. A cause whose changes did not help
twice is given up. All that takes a part of the budget at most, and the sampler learns from these trials as from any.

Everything here but `causes_of` is a pure function of the trials, so that a resumed study goes the same way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.explain.diagnose import Ranked
from dbdyno.explain.explain import explain_run
from dbdyno.model.contract import Contract
from dbdyno.model.errors import DynoError
from dbdyno.model.knob import Assignment, Change, Knob, KnobSpace, Value
from dbdyno.model.machine import Machine
from dbdyno.model.trial import Cause, Trial, TrialKind
from dbdyno.tune import drift as drifts
from dbdyno.tune import search
from dbdyno.tune import space as spaces
from dbdyno.tune.contract import judge, repair

BUDGET_PART = 1 / 3
"""Of the trials that are not baselines, for guided ones at most."""
CAUSES_MAX = 8
"""So many causes of a run are kept."""
CONFIDENCE_MIN = 0.5
"""A cause that is less sure than that is left to the sampler."""
LOSSES_MAX = 2
"""A cause is given up after so many changes for it that were not better than the incumbent."""
STEP = 2.0
"""Factor by which a number goes on when it stands at the advised value and the cause is still there."""
_WHOLE, _HALF = 1.0, 0.5


@dataclass(frozen=True)
class Guided:
    """What to try, and for which cause."""

    assignment: Assignment
    cause: str
    why: str


def causes_of(folder: Path) -> tuple[Cause, ...] | None:
    """What held a recorded run back, as far as settings can mend it; None when the record cannot be explained."""
    try:
        ranked = explain_run(folder).findings
    except DynoError:
        return None
    return tuple(cause for one in ranked if (cause := _cause(one)) is not None)[:CAUSES_MAX]


def _cause(ranked: Ranked) -> Cause | None:
    finding = ranked.finding
    changes = {fix.name: fix.value for fix in finding.fixes if fix.kind == "setting" and fix.value}
    if not changes or finding.confidence < CONFIDENCE_MIN:
        return None
    return Cause(rule=finding.rule, says=finding.says, changes=changes, durability=finding.durability)


def budget_is_left(trials: Sequence[Trial], trials_max: int) -> bool:
    """Whether another guided trial may be made."""
    baselines = sum(trial.kind is TrialKind.BASELINE for trial in trials)
    guided = sum(bool(trial.cause) and trial.kind is TrialKind.SEARCH for trial in trials)
    return guided < round((trials_max - baselines) * BUDGET_PART)


def changeable(space: KnobSpace, names: Sequence[str], *, restart: bool) -> tuple[Knob, ...]:
    """The knobs that a guided trial may change: those named, else all that a running or restarted server takes."""
    dear = {Change.REBUILD} if restart else {Change.REBUILD, Change.RESTART}
    return tuple(knob for knob in space.knobs if knob.change not in dear and (not names or knob.name in names))


def propose(
    trials: Sequence[Trial], knobs: Sequence[Knob], *, space: KnobSpace, contract: Contract, machine: Machine
) -> Guided | None:
    """The incumbent with one cause mended; None when there is nothing that was not measured already."""
    best = search.incumbent(trials)
    if best is None:
        return None
    measured = [_essence(trial.assignment, space) for trial in trials if trial.kind in drifts.SEARCHED]
    lost = _losses(trials)
    for part in (_WHOLE, _HALF):
        for number, cause in _known(trials, best, space):
            if lost.count(cause.rule) >= LOSSES_MAX or not _keeps(cause, contract):
                continue
            assignment = changed(best.assignment, cause, knobs, part)
            if judge(assignment, space, contract, machine):
                assignment = repair(assignment, space, contract, machine)
            if judge(assignment, space, contract, machine) or _essence(assignment, space) in measured:
                continue
            return Guided(assignment, cause.rule, _why(number, cause, best.assignment, assignment))
    return None


def changed(base: Assignment, cause: Cause, knobs: Sequence[Knob], part: float) -> Assignment:
    """The assignment with the cause's settings, clamped to their ranges; a step beyond where they stand there."""
    wanted = {knob: value for knob in knobs if (value := _read(knob, cause.changes.get(knob.name, ""))) is not None}
    moved = {knob.name: _moved(knob, base.get(knob.name, knob.default), to, part) for knob, to in wanted.items()}
    if all(moved[knob.name] == base.get(knob.name, knob.default) for knob in wanted):
        moved = {knob.name: _beyond(knob, base.get(knob.name, knob.default)) for knob in wanted}
    return {**base, **spaces.rounded(moved, knobs)}


def _read(knob: Knob, text: str) -> Value | None:
    """A value in the server's words as the knob's own; None for what it does not take."""
    words = {str(word).lower(): word for word in (*knob.choices, *knob.special)}
    if text.lower() in words:
        return words[text.lower()]
    try:
        number = float(text)
    except ValueError:
        return None
    return number if not knob.choices and math.isfinite(number) else None


def _moved(knob: Knob, now: Value, to: Value, part: float) -> Value:
    """From one value to another, the whole way or the geometric half of it."""
    if part < _WHOLE and _is_number(knob, to):
        start = float(now) if _is_number(knob, now) else 0.0
        # From "off" and from nothing there is no middle: half of what is advised.
        to = math.sqrt(start * float(to)) if start > 0 else float(to) * part
    return _clamped(knob, to)


def _beyond(knob: Knob, now: Value) -> Value:
    """One step further from the default; what stands at the default, or is a word, has no direction."""
    if not _is_number(knob, now) or now == knob.default:
        return now
    up = not _is_number(knob, knob.default) or float(now) > float(knob.default)
    return _clamped(knob, float(now) * STEP if up else float(now) / STEP)


def _is_number(knob: Knob, value: Value) -> bool:
    return not knob.choices and isinstance(value, int | float) and value not in knob.special


def _clamped(knob: Knob, value: Value) -> Value:
    whole = round(value) if knob.integer and isinstance(value, float) and value not in knob.special else value
    return spaces.assignment_of(spaces.parameters({knob.name: whole}, (knob,)), (knob,))[knob.name]


def _known(trials: Sequence[Trial], best: search.Candidate, space: KnobSpace) -> list[tuple[int, Cause]]:
    """Causes that the runs of the incumbent show, and of the default's where the incumbent left the settings alone;
    each with the number of the trial."""
    touched = _essence(best.assignment, space).keys()
    own = _shown(trials, best.assignment)
    rules = {cause.rule for _number, cause in own}
    of_default = [] if best.assignment == {} else _shown(trials, {})
    others = [one for one in of_default if one[1].rule not in rules and not one[1].changes.keys() & touched]
    return own + others


def _shown(trials: Sequence[Trial], assignment: Assignment) -> list[tuple[int, Cause]]:
    """What the believed runs of an assignment show: each cause once, as the last run shows it. The machine's noise can
    hide a cause from one of them."""
    found: dict[str, tuple[int, Cause]] = {}
    for trial in reversed(trials):
        if trial.assignment == assignment and drifts.believed(trial):
            for cause in trial.causes or ():
                found.setdefault(cause.rule, (trial.number, cause))
    return list(found.values())


def _losses(trials: Sequence[Trial]) -> list[str]:
    """Causes of the guided trials that did not become the incumbent, once for each."""
    lost = []
    for at, trial in enumerate(trials, start=1):
        if not trial.cause or trial.kind is not TrialKind.SEARCH:
            continue
        again = at < len(trials) and trials[at].assignment == trial.assignment
        best = search.incumbent(trials[: at + again])
        if best is None or best.assignment != trial.assignment:
            lost.append(trial.cause)
    return lost


def _keeps(cause: Cause, contract: Contract) -> bool:
    return cause.durability is None or cause.durability >= contract.level


def _essence(assignment: Assignment, space: KnobSpace) -> dict[str, Value]:
    """What an assignment changes: settings at their default say nothing."""
    defaults = {knob.name: knob.default for knob in space.knobs}
    return {name: value for name, value in assignment.items() if name not in defaults or value != defaults[name]}


def _why(number: int, cause: Cause, before: Assignment, after: Assignment) -> str:
    changes = ", ".join(f"{name} = {value}" for name, value in after.items() if before.get(name) != value)
    return f"{changes} (trial {number}: {cause.says})"
