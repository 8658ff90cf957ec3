"""From crash states to a verdict. All functions are pure.

A configuration reaches L3 when nothing acknowledged was ever lost, L2 when only a tail was, and less when anything was
torn: L1 if it survives the death of its process, else L0. That nothing was seen in N states bounds how often it can
happen; it does not exclude it.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from scipy.special import betaincinv

from dbdyno.model.crash import PROCESS, SUBJECT, ArmOutcome, Control, CrashOutcome, CrashPlan, KindCount, StateResult
from dbdyno.model.finding import Verdict
from dbdyno.model.knob import Level

CONFIDENCE = 0.95
BAD_SHOWN = 5
UNKNOWN_MAX = 0.1
"""Part of the states that may stay unjudged before nothing can be said."""
LOSSLESS = ("ledger",)
"""Workloads that keep an acknowledgement log, so that a loss can be told."""
_SCOPE = {
    "block": "a device that honours flush: everything up to a completed flush stays, of what came after it any part may"
    " be there, in any order, writes torn at 512 bytes or 4 KiB; losses by the device itself are not tested",
    "folder": "a file system that keeps what was synced, file by file, and no more: of everything else any part may be"
    " there; no real file system and no journal took part",
}


def upper_bound(bad: int, tried: int, confidence: float = CONFIDENCE) -> float:
    """Largest rate of bad states that is compatible with what was seen: one-sided, exact binomial (Clopper and Pearson,
    "The use of confidence or fiducial limits", 1934). For 0 of N it is close to 3/N, the rule of three."""
    if tried <= 0 or bad >= tried:
        return 1.0
    if bad == 0:
        return float(1.0 - (1.0 - confidence) ** (1.0 / tried))
    return float(betaincinv(bad + 1, tried - bad, confidence))


def arm_outcome(
    plan: CrashPlan, arm: Control, results: Sequence[StateResult], *, acknowledged: int = 0, error: str = ""
) -> ArmOutcome:
    """Sums the states of one configuration up."""
    mine = [one for one in results if one.arm == arm.name]
    process = next((one for one in mine if one.kind == PROCESS), None)
    cuts = [one for one in mine if one.kind != PROCESS]
    judged = [one for one in cuts if one.verdict is not Verdict.UNKNOWN]
    losing = [one for one in judged if one.lost]
    corrupt = [one for one in judged if one.corrupt]
    bad = [one for one in judged if one.verdict is Verdict.FAIL]
    recoveries = [one.recovery_s for one in judged if one.recovery_s is not None]
    survives = Verdict.UNKNOWN if process is None or process.verdict is Verdict.UNKNOWN else Verdict.PASS
    if process is not None and process.corrupt:
        survives = Verdict.FAIL
    level = _level(plan, judged=len(judged), losing=len(losing), corrupt=len(corrupt), survives=survives)
    return ArmOutcome(
        name=arm.name,
        says=arm.says,
        settings=arm.settings,
        level=level,
        expected=None if arm.name == SUBJECT else arm.level,
        kinds=_kinds(cuts),
        states=len(judged),
        losing=len(losing),
        corrupt=len(corrupt),
        disagreeing=sum(one.disagrees for one in judged),
        unknown=len(cuts) - len(judged),
        lost_max=max((one.lost for one in judged), default=0),
        lost_oldest_ms=max((one.lost_oldest_ms for one in judged if one.lost_oldest_ms is not None), default=None),
        acknowledged=acknowledged,
        rate=len(bad) / len(judged) if judged else None,
        rate_high=upper_bound(len(bad), len(judged)) if judged else None,
        recovery_s_median=statistics.median(recoveries) if recoveries else None,
        recovery_s_max=max(recoveries, default=None),
        process_crash=survives,
        bad=tuple(one.id for one in bad[:BAD_SHOWN]),
        caught=None if arm.name == SUBJECT or level is None else bool(bad),
        error=error,
    )


def _kinds(cuts: Sequence[StateResult]) -> dict[str, KindCount]:
    kinds: dict[str, KindCount] = {}
    for one in cuts:
        had = kinds.get(one.kind, KindCount())
        unknown = one.verdict is Verdict.UNKNOWN
        kinds[one.kind] = KindCount(
            states=had.states + (not unknown),
            losing=had.losing + (not unknown and one.lost > 0),
            corrupt=had.corrupt + (not unknown and one.corrupt),
            unknown=had.unknown + unknown,
        )
    return kinds


def _level(plan: CrashPlan, *, judged: int, losing: int, corrupt: int, survives: Verdict) -> Level | None:
    if survives is Verdict.FAIL:
        return Level.L0
    if judged == 0:
        return None
    if corrupt:
        return Level.L1 if survives is Verdict.PASS else Level.L0
    # Without acknowledgements to hold against, a loss would go unseen.
    return Level.L3 if not losing and plan.workload.name in LOSSLESS else Level.L2


def outcome(
    plan: CrashPlan, arms: Sequence[ArmOutcome], *, status: str, seconds: float = 0.0, error: str = ""
) -> CrashOutcome:
    """The verdict on the configuration on trial, from all that was seen so far."""
    subject = next((arm for arm in arms if arm.name == SUBJECT), None)
    verdict, says = (
        _judge(plan, subject, [arm for arm in arms if arm.name != SUBJECT], status)
        if subject is not None
        else (Verdict.UNKNOWN, "no crash state was judged")
    )
    return CrashOutcome(
        status=status,
        verdict=verdict,
        level=subject.level if subject else None,
        says=says,
        scope=_SCOPE.get(plan.mode, plan.mode) + (f"; the disk was made to fail: {plan.fault}" if plan.fault else ""),
        arms=tuple(arms),
        seconds=seconds,
        error=error,
    )


def _judge(plan: CrashPlan, subject: ArmOutcome, controls: Sequence[ArmOutcome], status: str) -> tuple[Verdict, str]:
    if subject.level is None:
        return Verdict.UNKNOWN, subject.error or "no crash state was judged"
    seen = _seen(subject)
    if broken := _broken(plan, subject, subject.level):
        return Verdict.FAIL, f"{broken}: {seen}"
    if doubt := _doubt(plan, subject, controls, status):
        return Verdict.UNKNOWN, f"{doubt}; so far: {seen}"
    return Verdict.PASS, f"it reaches {subject.level.name}: {seen}"


def _broken(plan: CrashPlan, subject: ArmOutcome, level: Level) -> str:
    """How it breaks the contract; empty: it was not seen to."""
    blind = plan.workload.name not in LOSSLESS and level is Level.L2
    if level < plan.level and not blind:
        return f"it reaches {level.name}, the contract needs {plan.level.name}"
    slowest = subject.recovery_s_max
    if slowest is not None and slowest > plan.recovery_s_max:
        return f"a recovery took {slowest:.1f} s, the contract allows {plan.recovery_s_max:g} s"
    if plan.log_agrees and subject.disagreeing:
        return "the log that replicas and a recovery to a moment read does not hold what the tables hold"
    return ""


def _doubt(plan: CrashPlan, subject: ArmOutcome, controls: Sequence[ArmOutcome], status: str) -> str:
    """Why what was seen is not enough; empty: it is."""
    if plan.level is Level.L3 and plan.workload.name not in LOSSLESS:
        return f"{plan.workload.name} keeps no acknowledgements: a loss would not be seen"
    total = subject.states + subject.unknown
    if subject.unknown > total * UNKNOWN_MAX:
        return f"{subject.unknown} of {total} states could not be judged"
    if status != "done":
        return f"the proof is {status}"
    missed = [arm.name for arm in controls if arm.caught is False and not _needs_tearing(plan, arm.name)]
    return f"the proof did not catch {', '.join(missed)}, so it does not count" if missed else ""


def _needs_tearing(plan: CrashPlan, name: str) -> bool:
    return any(control.needs_tearing for control in plan.controls if control.name == name)


def _seen(arm: ArmOutcome) -> str:
    """What was seen of a configuration, in one clause."""
    if not arm.losing and not arm.corrupt and not arm.disagreeing:
        bound = f"at {CONFIDENCE:.0%} confidence fewer than {arm.rate_high or 1.0:.1%} of such states are bad"
        return f"no violation in {arm.states} crash states ({bound})"
    words = []
    if arm.corrupt:
        words.append(f"{arm.corrupt} of {arm.states} crash states are torn or do not start")
    if arm.losing:
        oldest = f", the oldest {arm.lost_oldest_ms:.0f} ms old" if arm.lost_oldest_ms is not None else ""
        words.append(f"{arm.losing} of {arm.states} lose up to {arm.lost_max} acknowledged transactions{oldest}")
    if arm.disagreeing:
        words.append(f"in {arm.disagreeing} of {arm.states} the log that others read and the tables disagree")
    return "; ".join(words)
