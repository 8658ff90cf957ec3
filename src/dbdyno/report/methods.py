"""How it was measured and what it does not show, in plain words."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.model.finding import Verdict
from dbdyno.model.run import Doubt
from dbdyno.model.trial import StudyOutcome, StudyPlan, Trial, TrialKind
from dbdyno.report import figures
from dbdyno.report.shapes import Row


def study_methods(plan: StudyPlan) -> list[Row]:
    rows = [
        Row(
            name="A trial",
            value="starts from the same dataset and a fresh server with the configuration to be tried, is warmed up "
            f"for {figures.seconds(plan.warmup_s)} and measured for {figures.seconds(plan.measure_s)} in a closed loop "
            f"with {plan.threads} connections.",
        ),
        Row(
            name="Charged throughput",
            value="transactions divided by the measured seconds and the seconds that the server then needs to write "
            "what it had put off. A configuration that only writes later gains nothing by it.",
        ),
        Row(
            name="Search",
            value=f"the sampler “{plan.sampler}” proposes configurations after the default and the formulas were "
            "measured. Every few trials a known configuration (an anchor) runs again and shows how the machine drifts. "
            "Trials with a grave doubt are not believed.",
        ),
        Row(
            name="Confirmation",
            value=f"{plan.confirm_pairs} pairs of runs with the order turned round from pair to pair (A B B A), each "
            "from a fresh start. Each pair gives one ratio; what is stated is their geometric mean with a 95 % "
            "interval. A difference is claimed only when the interval leaves out 1.",
        ),
    ]
    if plan.rate_s > 0:
        rows.append(
            Row(
                name="Latency",
                value=f"response times come from a phase of {figures.seconds(plan.rate_s)} at one fixed rate for all "
                "configurations. They count from when a transaction was due, so waiting in the queue counts.",
            )
        )
    if plan.ablate:
        rows.append(
            Row(
                name="Contribution of a line",
                value="the winner against the winner with that one setting put back to its default. Settings act "
                "together, so the contributions need not multiply to the whole.",
            )
        )
    return rows


def _durability(outcome: StudyOutcome | None) -> str:
    """What the promise of durability rests on."""
    said = outcome.contract if outcome is not None else {}
    if said.get("power_loss") in (Verdict.PASS, Verdict.FAIL):
        return (
            "The power was cut in a record of writes, on a device that honours flush: a disk that lies, and errors on "
            "flush, were not tested."
        )
    return "The promise of durability rests on settings and their read-back; a cut of power was not part of this study."


def study_caveats(plan: StudyPlan, trials: Sequence[Trial], outcome: StudyOutcome | None) -> list[str]:
    found = [
        f"This holds for the workload {plan.workload.name} at scale {plan.workload.scale}, for this server and this "
        "machine. Another load may want another configuration.",
        _durability(outcome),
    ]
    if "tpcc" in plan.workload.name:
        found.append("The workload is TPC-C-like without think times; it is no TPC-C result and not comparable to one.")
    if any(note.doubt == Doubt.DRIVER_ON_SERVER_HOST for one in trials for note in one.doubts):
        found.append("The load came from the server's own machine and took processor time from it, for all alike.")
    if outcome is None or not any(one.kind == TrialKind.CONFIRM for one in trials):
        found.append("Without confirmation the best of many trials looks better than it is.")
    if outcome is not None and outcome.winner and outcome.validation.get("verdict") != Verdict.PASS:
        says = outcome.validation.get("says", "not run")
        found.append(
            f"That the gain lasts over two checkpoint cycles was not shown ({says}); deferred writes are charged."
        )
    return found
