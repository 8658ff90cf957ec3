"""One long run of the winner: does its gain last when nothing more can be put off?

A checkpoint cycle is over when as much log has been written as may stand between two checkpoints; from then on data
pages are written as fast as they are changed. Short trials charge what they put off (`tune.trial`), which is an
estimate. So at the end the winner runs without a break until it has written the log of two such cycles at the rate that
was seen, and its charged throughput must be that of its short runs.

How much log may stand comes from the knobs that bound it, its rate from the winner's own trials: no engine is asked for
a word of its own.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from dbdyno.model.fact import Scalar
from dbdyno.model.finding import Verdict
from dbdyno.model.knob import Assignment, KnobSpace
from dbdyno.model.trial import StudyPlan, Trial, TrialKind, TrialStatus
from dbdyno.tune.standing_log import log_bytes_max, log_bytes_per_s
from dbdyno.tune.trial import Step

CYCLES = 2
MARGIN = 1.1
"""So much longer than two cycles take at the rate that was seen."""
NOISE = 0.05
"""A long run that is lower than the short ones by no more than this, or twice the noise that was seen, is as fast."""
CYCLE_S_MAX = 86_400.0
"""A load that needs a day for a cycle writes so little that nothing is put off."""


def cycle_s(trials: Sequence[Trial], winner: Assignment, space: KnobSpace) -> float | None:
    """Length of a checkpoint cycle in seconds; None when nothing bounds the log, or its rate is not known."""
    rate = log_bytes_per_s(_short(trials), winner)
    stands = log_bytes_max(winner, space, rate)
    return stands / rate if stands and rate else None


def validation_step(
    trials: Sequence[Trial], winner: Assignment, space: KnobSpace, plan: StudyPlan, name: str
) -> Step | None:
    """The long run, no shorter than a trial and no longer than the plan allows; None when it was made, is not wanted,
    or there is nothing to wait for."""
    cycle = cycle_s(trials, winner, space)
    if plan.validate_s <= 0 or not winner or cycle is None or cycle > CYCLE_S_MAX or _long(trials, winner):
        return None
    wanted_s = max(plan.measure_s, CYCLES * MARGIN * cycle)
    return Step(TrialKind.VALIDATION, name, winner, measure_s=math.ceil(min(plan.validate_s, wanted_s)))


def validation(
    trials: Sequence[Trial], winner: Assignment, space: KnobSpace, *, limit_s: float, noise: float
) -> dict[str, Scalar]:
    """What the long run showed: `verdict`, `says`, `cycles`, `seconds`, `tps_charged`, `ratio` to the short runs.

    `noise` is the standard deviation of log throughput between runs of one configuration. Pass: two cycles, and no
    slower than the short runs. Anything that was not seen is unknown.
    """
    made = _long(trials, winner)
    if not made:
        return {"verdict": Verdict.UNKNOWN, "says": _not_run(trials, winner, space, limit_s)}
    run = made[-1]
    if run.status is TrialStatus.FAILED or not run.tps_charged:
        return {"verdict": Verdict.FAIL, "says": f"the long run failed: {run.error or 'it made no transaction'}"}
    short = [trial.tps_charged for trial in _short(trials) if _same(trial, winner) and trial.tps_charged]
    cycles = _cycles(run, trials, winner, space)
    facts: dict[str, Scalar] = {"cycles": cycles, "seconds": run.measured_s, "tps_charged": run.tps_charged}
    says = f"{cycles:.1f} checkpoint cycles in {run.measured_s:.0f} s at {run.tps_charged:.0f} charged transactions/s"
    if not short:
        return facts | {"verdict": Verdict.UNKNOWN, "says": says + ", with no short run to compare with"}
    ratio = run.tps_charged / statistics.median(short)
    facts["ratio"] = ratio
    says += f", {ratio:.2f} of its short runs"
    if ratio < math.exp(-max(NOISE, 2 * noise)):
        return facts | {"verdict": Verdict.FAIL, "says": says + ": the gain of short runs does not last"}
    if cycles < CYCLES:
        return facts | {"verdict": Verdict.UNKNOWN, "says": says + f"; {CYCLES} were wanted"}
    return facts | {"verdict": Verdict.PASS, "says": says}


def _not_run(trials: Sequence[Trial], winner: Assignment, space: KnobSpace, limit_s: float) -> str:
    if not winner:
        return "not run: the default is the winner"
    if limit_s <= 0:
        return "not run: it was not asked for"
    cycle = cycle_s(trials, winner, space)
    if cycle is None:
        return "not run: how much log may stand, or how fast it grows, is not known"
    return "not run: the load writes hardly any log" if cycle > CYCLE_S_MAX else "not run yet"


def _cycles(run: Trial, trials: Sequence[Trial], winner: Assignment, space: KnobSpace) -> float:
    """From the log that the run really wrote; by its length where that is not known."""
    stands = log_bytes_max(winner, space, log_bytes_per_s(_short(trials), winner))
    if run.wal_bytes_per_transaction and run.tps and stands:
        return run.wal_bytes_per_transaction * run.tps * run.measured_s / stands
    cycle = cycle_s(trials, winner, space)
    return run.measured_s / cycle if cycle else 0.0


def _short(trials: Sequence[Trial]) -> list[Trial]:
    """Confirmation runs; before there are any, the trials of the search."""
    others = [trial for trial in trials if trial.kind is not TrialKind.VALIDATION]
    return [trial for trial in others if trial.kind is TrialKind.CONFIRM] or others


def _same(trial: Trial, winner: Assignment) -> bool:
    return trial.assignment == winner and trial.status is not TrialStatus.FAILED


def _long(trials: Sequence[Trial], winner: Assignment) -> list[Trial]:
    return [trial for trial in trials if trial.kind is TrialKind.VALIDATION and trial.assignment == winner]
