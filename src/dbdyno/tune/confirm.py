"""Confirms the winner: fresh server and dataset for each run, arms in turn and back, intervals on paired log ratios.

With three arms (default D, best formula F, winner W) the rounds go D F W, W F D, D F W …: each pair of arms is
interleaved as in ABBA, so a linear drift of the machine cancels, and neighbouring runs of one arm (W W, D D) are A/A
pairs that show the noise for nothing. Each run has a closed-loop phase, whose throughput is charged with write debt,
and an open-loop phase at a rate that all arms can serve, whose 99th percentile is compared.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dbdyno.model.fact import Scalar
from dbdyno.model.knob import Assignment
from dbdyno.model.trial import Comparison, Trial, TrialKind, TrialStatus
from dbdyno.stats.paired import compare
from dbdyno.tune.rounds import next_slot, slots
from dbdyno.tune.search import DEFAULT, Candidate, best_formula, default_tps
from dbdyno.tune.trial import Step

WINNER = "winner"


@dataclass(frozen=True)
class Arm:
    name: str
    assignment: Assignment


def arms_of(trials: Sequence[Trial], winner: Candidate) -> list[Arm]:
    """Default, best formula, winner; an arm that is another one's double is left out."""
    arms = [Arm(DEFAULT, {})]
    formula = best_formula(trials)
    if formula is not None and formula.assignment != winner.assignment:
        arms.append(Arm(formula.name, dict(formula.assignment)))
    if winner.assignment:
        arms.append(Arm(WINNER, winner.assignment))
    return arms


def fixed_rate(trials: Sequence[Trial], fraction: float) -> float:
    """Transactions per second of the open-loop phase: a part of what the default sustains with its debt charged."""
    return math.floor(default_tps(trials) * fraction * 10) / 10


def rounds(arms: Sequence[Arm], pairs: int) -> list[list[Arm]]:
    return [list(arms) if turn % 2 == 0 else list(arms)[::-1] for turn in range(pairs)]


def confirm_step(trials: Sequence[Trial], arms: Sequence[Arm], pairs: int, rate_per_s: float) -> Step | None:
    """The next confirmation run; None when all rounds are made."""
    order = [arm.name for turn in rounds(arms, pairs) for arm in turn]
    name = next_slot(trials, order, TrialKind.CONFIRM)
    if name is None:
        return None
    arm = next(arm for arm in arms if arm.name == name)
    return Step(TrialKind.CONFIRM, name, arm.assignment, rate_per_s=rate_per_s)


def by_round(trials: Sequence[Trial], arms: Sequence[Arm], pairs: int) -> list[dict[str, Trial]]:
    """Confirmation runs that count, by round and arm."""
    order = [arm.name for turn in rounds(arms, pairs) for arm in turn]
    filled = slots(trials, TrialKind.CONFIRM)[: len(order)]
    found: list[dict[str, Trial]] = []
    for start in range(0, len(filled), max(len(arms), 1)):
        chunk = filled[start : start + len(arms)]
        found.append({trial.name: trial for trial in chunk if trial.status is not TrialStatus.FAILED})
    return found


_FIGURES: tuple[tuple[str, str, Callable[[Trial], float | None]], ...] = (
    ("tps_charged", "higher", lambda trial: trial.tps_charged),
    ("tps", "higher", lambda trial: trial.tps),
    ("rate_p99_ms", "lower", lambda trial: trial.rate_p99_ms),
    ("write_bytes_per_transaction", "lower", lambda trial: trial.write_bytes_per_transaction),
)


def comparisons(trials: Sequence[Trial], arms: Sequence[Arm], pairs: int, seed: int) -> list[Comparison]:
    """The winner over each other arm, for each figure that both have; the ratio is winner / other."""
    found: list[Comparison] = []
    turns = by_round(trials, arms, pairs)
    for arm in arms:
        if arm.name == WINNER:
            continue
        both = [(turn[arm.name], turn[WINNER]) for turn in turns if arm.name in turn and WINNER in turn]
        for figure, better, value in _FIGURES:
            values = [(value(a), value(b)) for a, b in both]
            usable = [(a, b) for a, b in values if a and b and a > 0 and b > 0]
            if usable:
                found.append(
                    compare(
                        [a for a, _b in usable],
                        [b for _a, b in usable],
                        figure=figure,
                        names=(arm.name, WINNER),
                        better=better,
                        seed=seed,
                    )
                )
    return found


def noise(trials: Sequence[Trial], arms: Sequence[Arm], pairs: int) -> dict[str, Scalar]:
    """What two neighbouring runs of one and the same arm differ by (A/A)."""
    order = [arm.name for turn in rounds(arms, pairs) for arm in turn]
    filled = slots(trials, TrialKind.CONFIRM)[: len(order)]
    logs = [
        math.log(b.tps_charged / a.tps_charged)
        for a, b in itertools.pairwise(filled)
        if a.name == b.name and a.tps_charged and b.tps_charged
    ]
    if not logs:
        return {}
    return {
        "aa_pairs": len(logs),
        "aa_log_ratio_mean": float(np.mean(logs)),
        # Around zero: in an A/A pair the true difference is known.
        "aa_log_ratio_sd": float(np.sqrt(np.mean(np.square(logs)))),
    }
