"""What a study can say of its contract, clause by clause. What was not tested is unknown, and says so."""

from __future__ import annotations

from dbdyno.model.fact import Scalar
from dbdyno.model.finding import Verdict
from dbdyno.model.knob import Level
from dbdyno.model.trial import StudyOutcome, StudyPlan
from dbdyno.report import figures
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


def checks(plan: StudyPlan, outcome: StudyOutcome | None) -> list[Check]:
    """The layers of the contract in the order of their strength."""
    said = dict(outcome.contract) if outcome is not None else {}
    found = [
        _check(said, "static", _STATIC, _static_words(said)),
        _check(said, "read_back", _READ_BACK, _READ_BACK_WORDS),
        _check(said, "recovery", _RECOVERY, _recovery_words(plan, said)),
    ]
    if plan.contract.p99_ms_max is not None:
        found.append(_check(said, "p99", _LIMIT, _limit_words(plan.contract.p99_ms_max, said)))
    return [*found, _check(said, "power_loss", _POWER, _power_words(said))]


Words = dict[Verdict, str]
_READ_BACK_WORDS: Words = {
    Verdict.PASS: "After its start the server itself reported the settings that the contract needs.",
    Verdict.FAIL: "The server reported other settings than the contract needs.",
    Verdict.UNKNOWN: "Not recorded.",
}


def _power_words(said: dict[str, Scalar]) -> Words:
    """What the proof said of itself."""
    says = str(said.get("power_loss_says") or "")
    ran = "power_loss_proof" in said
    name = str(said.get("power_loss_proof") or "").rpartition("/")[2]
    missing = f"What the settings promise was checked; that disk and server keep it was not ({says or 'not run'})."
    return {
        Verdict.PASS: f"Power was cut under load in many places: {says}. See dyno report {name}.",
        Verdict.FAIL: f"Power was cut under load in many places: {says}. See dyno report {name}.",
        Verdict.UNKNOWN: f"The proof was begun and shows nothing yet: {says}." if ran else missing,
    }


def _check(said: dict[str, Scalar], name: str, title: str, words: Words) -> Check:
    """The verdict as it is recorded; anything but pass or fail is unknown."""
    value = said.get(name)
    verdict = Verdict(str(value)) if str(value) in set(Verdict) else Verdict.UNKNOWN
    return Check(verdict=verdict, title=title, why=words[verdict])


def _static_words(said: dict[str, Scalar]) -> Words:
    return {
        Verdict.PASS: "No setting of the winner is outside what the promised level permits.",
        Verdict.FAIL: f"Breaches: {said.get('breaches')}",
        Verdict.UNKNOWN: "Not recorded: no winner was held against the table.",
    }


def _recovery_words(plan: StudyPlan, said: dict[str, Scalar]) -> Words:
    """What was seen, and the study's own words about it where there are any."""
    seen, most = said.get("recovery_s"), figures.seconds(plan.contract.recovery_s_max)
    remark = str(said.get("recovery_says") or "not measured")
    own = f"{remark[:1].upper()}{remark[1:]}. Allowed are {most}."
    if isinstance(seen, int | float) and not isinstance(seen, bool):
        took = f"Killed under load, the server answered again after {figures.seconds(seen)}; allowed are {most}."
        longest = said.get("recovery_s_longest")
        if isinstance(longest, int | float) and longest > seen:
            took += f" With all the log that may stand it would take about {figures.seconds(round(longest))}."
        return {**dict.fromkeys(Verdict, took), Verdict.UNKNOWN: own if "recovery_says" in said else took}
    return dict.fromkeys(Verdict, own)


def _limit_words(most_ms: float, said: dict[str, Scalar]) -> Words:
    seen = said.get("p99_ms")
    if not isinstance(seen, int | float):
        return dict.fromkeys(Verdict, f"Not measured for the winner; allowed are {figures.milliseconds(most_ms)}.")
    took = f"{figures.milliseconds(seen)} of {figures.milliseconds(most_ms)} allowed"
    return dict.fromkeys(Verdict, f"The 99th percentile at the fixed rate was {took}.")


def summary(plan: StudyPlan, outcome: StudyOutcome | None) -> str:
    """The contract in one sentence, no stronger than what was tested."""
    found = checks(plan, outcome)
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
