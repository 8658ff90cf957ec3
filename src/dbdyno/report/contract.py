"""What a study can say of its contract, clause by clause. What was not tested is unknown, and says so."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.model.fact import Scalar
from dbdyno.model.finding import Verdict
from dbdyno.model.knob import Level
from dbdyno.model.trial import StudyOutcome, StudyPlan, Trial, TrialKind
from dbdyno.report import arms, figures
from dbdyno.report.shapes import Check, Row

_LEVELS = {
    Level.L3: "L3: every acknowledged transaction survives a loss of power, nothing is torn",
    Level.L2: "L2: a bounded tail may be lost at a loss of power, nothing is torn",
    Level.L1: "L1: safe against a crash of the process only",
    Level.L0: "L0: corruption is possible",
}
_STATIC, _READ_BACK, _RECOVERY, _POWER, _LIMIT = (
    "Settings within the contract's table",
    "Read back from the running server",
    "Recovery after a crash",
    "Power-loss proof",
    "Response time limit",
)


def checks(plan: StudyPlan, outcome: StudyOutcome | None, trials: Sequence[Trial]) -> list[Check]:
    """The layers of the contract in the order of their strength."""
    said = dict(outcome.contract) if outcome is not None else {}
    found = [_static(said), _read_back(said), _recovery(plan, said)]
    if plan.contract.p99_ms_max is not None:
        found.append(_limit(plan.contract.p99_ms_max, trials))
    return [*found, _power(said)]


def _static(said: dict[str, Scalar]) -> Check:
    breaches = said.get("breaches")
    if breaches in (0, "", False) or (breaches is None and said.get("kept") is True):
        why = "No setting of the winner is outside what the promised level permits."
        return Check(verdict=Verdict.PASS, title=_STATIC, why=why)
    if breaches is None:
        return Check(verdict=Verdict.UNKNOWN, title=_STATIC, why="Not recorded: no winner was held against the table.")
    return Check(verdict=Verdict.FAIL, title=_STATIC, why=f"Breaches: {breaches}")


def _read_back(said: dict[str, Scalar]) -> Check:
    seen = next((said[name] for name in ("read_back", "readback", "effective") if name in said), None)
    if seen is None and said.get("kept") is True:
        seen = True
    if seen is None:
        return Check(verdict=Verdict.UNKNOWN, title=_READ_BACK, why="Not recorded.")
    if seen in (True, "pass", 0):
        why = "After its start the server itself reported the settings that the contract needs."
        return Check(verdict=Verdict.PASS, title=_READ_BACK, why=why)
    return Check(verdict=Verdict.FAIL, title=_READ_BACK, why=f"The server reported otherwise: {seen}")


def _recovery(plan: StudyPlan, said: dict[str, Scalar]) -> Check:
    seen, most = said.get("recovery_s"), said.get("recovery_s_max", plan.contract.recovery_s_max)
    if not isinstance(seen, int | float) or isinstance(seen, bool) or not isinstance(most, int | float):
        why = str(said.get("recovery_unknown") or "Not measured.")
        return Check(verdict=Verdict.UNKNOWN, title=_RECOVERY, why=why)
    words = f"The process was killed under load; the server answered again after {figures.seconds(seen)} of {figures.seconds(most)} allowed."
    return Check(verdict=Verdict.PASS if seen <= most else Verdict.FAIL, title=_RECOVERY, why=words)


def _limit(most_ms: float, trials: Sequence[Trial]) -> Check:
    confirmed = [one for one in arms.believed(trials) if one.kind == TrialKind.CONFIRM and one.name == arms.WINNER]
    seen = arms.geometric(one.rate_p99_ms for one in confirmed)
    if seen is None:
        return Check(verdict=Verdict.UNKNOWN, title=_LIMIT, why="Not measured for the winner.")
    words = f"The 99th percentile at the fixed rate was {figures.milliseconds(seen)} of {figures.milliseconds(most_ms)} allowed."
    return Check(verdict=Verdict.PASS if seen <= most_ms else Verdict.FAIL, title=_LIMIT, why=words)


def _power(said: dict[str, Scalar]) -> Check:
    seen = next((said[name] for name in ("power_loss", "crash_proof") if name in said), None)
    if seen in (True, "pass"):
        return Check(verdict=Verdict.PASS, title=_POWER, why="Power was cut under load; nothing acknowledged was lost.")
    if seen in (False, "fail"):
        return Check(verdict=Verdict.FAIL, title=_POWER, why="After a cut of power acknowledged transactions were lost.")
    why = "Not run. What the settings promise was checked; that the disk and the server keep it was not."
    return Check(verdict=Verdict.UNKNOWN, title=_POWER, why=why)


def summary(plan: StudyPlan, outcome: StudyOutcome | None, trials: Sequence[Trial]) -> str:
    """The contract in one sentence, no stronger than what was tested."""
    found = checks(plan, outcome, trials)
    level = plan.contract.level.name
    if failed := [one.title.lower() for one in found if one.verdict == Verdict.FAIL]:
        return f"It breaks the {level} contract: {', '.join(failed)}."
    if unknown := [one.title.lower() for one in found if one.verdict == Verdict.UNKNOWN]:
        passed = len(found) - len(unknown)
        if not passed:
            return f"Whether it keeps the {level} contract was not tested."
        return f"It kept the {level} contract in {passed} of {len(found)} tests; unknown: {', '.join(unknown)}."
    return f"It kept the {level} contract in every test."


def rows(plan: StudyPlan) -> list[Row]:
    """What was promised."""
    one = plan.contract

    def yes(value: bool) -> str:
        return "kept" if value else "not asked for"

    found = [
        Row(name="durability", value=_LEVELS[one.level]),
        Row(name="point-in-time recovery", value=yes(one.pitr)),
        Row(name="replication", value=yes(one.replication)),
        Row(name="background maintenance", value="stays on" if one.maintenance else "may be switched off"),
        Row(name="recovery time at most", value=figures.seconds(one.recovery_s_max)),
        Row(
            name="memory planned at most",
            value=figures.size(one.memory_bytes_max) if one.memory_bytes_max else "four fifths of the machine's",
        ),
    ]
    if one.p99_ms_max is not None:
        found.append(Row(name="99th percentile at the fixed rate at most", value=figures.milliseconds(one.p99_ms_max)))
    return found
