"""Which confirmation runs count: the one rule that the tuning loop, its figures and the reports share."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.model.trial import Trial, TrialKind, TrialStatus


def slots(trials: Sequence[Trial], kind: TrialKind) -> list[Trial]:
    """The trial that fills each place of the order, as far as they were measured.

    A doubted or failed run is made once more in the same place, and then the second counts.
    """
    filled: list[Trial] = []
    fresh = True
    for trial in (trial for trial in trials if trial.kind is kind):
        again = (
            bool(filled)
            and fresh
            and filled[-1].status in (TrialStatus.DOUBTED, TrialStatus.FAILED)
            and trial.name == filled[-1].name
        )
        if again:
            filled[-1] = trial
        else:
            filled.append(trial)
        fresh = not again
    return filled


def next_slot(trials: Sequence[Trial], order: Sequence[str], kind: TrialKind) -> str | None:
    """Name of the run to make next; None when all are made."""
    filled = slots(trials, kind)[: len(order)]
    if filled and filled[-1].status in (TrialStatus.DOUBTED, TrialStatus.FAILED) and _first_attempt(trials, kind):
        return filled[-1].name
    return order[len(filled)] if len(filled) < len(order) else None


def _first_attempt(trials: Sequence[Trial], kind: TrialKind) -> bool:
    of_kind = [trial for trial in trials if trial.kind is kind]
    bad = (TrialStatus.DOUBTED, TrialStatus.FAILED)
    run = 0
    for trial in reversed(of_kind):
        if trial.status not in bad or trial.name != of_kind[-1].name:
            break
        run += 1
    return run % 2 == 1
