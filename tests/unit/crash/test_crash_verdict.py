"""From states to levels and verdicts. Every way to a pass has ways beside it that do not pass."""

from __future__ import annotations

import pytest
from proofs import LOSSY, SUBJECT_ARM, TEARING, losing, plan, process, state
from scipy.stats import binom

from dbdyno.crash.verdict import arm_outcome, outcome, upper_bound
from dbdyno.model.crash import CrashOutcome, CrashPlan, DamageKind, StateResult
from dbdyno.model.finding import Verdict
from dbdyno.model.knob import Level
from dbdyno.model.plan import WorkloadSpec

SOUND = [process(), *(state(number) for number in range(1, 11))]
CONTROLS = [losing(1, arm="lossy"), state(1, DamageKind.TORN, arm="tearing")]


def judged(results: list[StateResult], *, status: str = "done", on: CrashPlan | None = None) -> CrashOutcome:
    on = on or plan()
    arms = [arm_outcome(on, arm, results) for arm in (SUBJECT_ARM, LOSSY, TEARING)]
    return outcome(on, arms, status=status)


def test_nothing_seen_passes_with_its_bound() -> None:
    found = judged([*SOUND, *CONTROLS])
    assert (found.verdict, found.level) == (Verdict.PASS, Level.L3)
    assert "no violation in 10 crash states" in found.says
    assert "25.9%" in found.says
    assert "honours flush" in found.scope
    assert "fail" not in found.scope
    faulty = judged([*SOUND, *CONTROLS], on=plan(fault="eio_on_fsync=3"))
    assert faulty.scope.endswith("the disk was made to fail: eio_on_fsync=3")


@pytest.mark.parametrize(
    ("results", "level", "verdict"),
    [
        ([*SOUND, losing(11)], Level.L2, Verdict.FAIL),
        ([*SOUND, state(11, DamageKind.TORN)], Level.L1, Verdict.FAIL),
        ([*SOUND, state(11, DamageKind.HOLE, lost=1)], Level.L1, Verdict.FAIL),
        ([*SOUND, state(11, DamageKind.START, recovery_s=None)], Level.L1, Verdict.FAIL),
        ([process(DamageKind.TORN), *SOUND[1:]], Level.L0, Verdict.FAIL),
        # Whether it survives the death of its process was not seen: no better than the worst.
        ([*SOUND[1:], state(11, DamageKind.ENGINE)], Level.L0, Verdict.FAIL),
        ([], None, Verdict.UNKNOWN),
        ([*SOUND[:6], *(state(number, unknown="no disk") for number in range(6, 11))], Level.L3, Verdict.UNKNOWN),
    ],
)
def test_levels(results: list[StateResult], level: Level | None, verdict: Verdict) -> None:
    found = judged([*results, *CONTROLS])
    assert (found.level, found.verdict) == (level, verdict)


def test_a_loss_is_measured() -> None:
    found = judged([*SOUND, losing(11, oldest_ms=12.0, lost=7), losing(12, oldest_ms=90.0), *CONTROLS])
    subject = found.arms[0]
    assert (subject.lost_max, subject.lost_oldest_ms, subject.losing, subject.corrupt) == (7, 90.0, 2, 0)
    assert "the oldest 90 ms old" in found.says
    assert subject.bad == ("subject-11", "subject-12")


def test_a_contract_that_permits_a_tail() -> None:
    found = judged([*SOUND, losing(11), *CONTROLS], on=plan(level=Level.L2))
    assert (found.verdict, found.level) == (Verdict.PASS, Level.L2)


@pytest.mark.parametrize("status", ["running", "interrupted", "failed"])
def test_what_is_not_done_does_not_pass(status: str) -> None:
    assert judged([*SOUND, *CONTROLS], status=status).verdict is Verdict.UNKNOWN
    # What is broken stays broken.
    assert judged([*SOUND, losing(11), *CONTROLS], status=status).verdict is Verdict.FAIL


def test_a_control_that_is_missed_takes_the_verdict_away() -> None:
    found = judged([*SOUND, state(1, arm="lossy"), CONTROLS[1]])
    assert found.verdict is Verdict.UNKNOWN
    assert "did not catch lossy" in found.says
    assert found.arms[1].caught is False


def test_tearing_that_does_not_show_is_said_and_no_more() -> None:
    found = judged([*SOUND, CONTROLS[0], state(1, arm="tearing")])
    assert found.verdict is Verdict.PASS
    assert found.arms[2].caught is False


def test_a_slow_recovery_breaks_the_contract() -> None:
    found = judged([*SOUND, state(11, recovery_s=130.0), *CONTROLS])
    assert found.verdict is Verdict.FAIL
    assert "130.0 s, the contract allows 120 s" in found.says
    assert found.arms[0].recovery_s_median == 0.5


def test_without_acknowledgements_no_loss_can_be_told() -> None:
    on = plan(workload=WorkloadSpec(name="tpcc"))
    found = judged([*SOUND, *CONTROLS], on=on)
    assert (found.verdict, found.level) == (Verdict.UNKNOWN, Level.L2)
    assert judged([*SOUND, state(11, DamageKind.INVARIANT), *CONTROLS], on=on).verdict is Verdict.FAIL


def test_kinds_are_counted() -> None:
    results = [*SOUND, state(11, DamageKind.TORN, kind="torn4k"), state(12, kind="torn4k", unknown="no disk")]
    kinds = judged(results).arms[0].kinds
    assert (kinds["flush"].states, kinds["flush"].corrupt) == (10, 0)
    assert (kinds["torn4k"].states, kinds["torn4k"].corrupt, kinds["torn4k"].unknown) == (1, 1, 1)


@pytest.mark.parametrize(("bad", "tried"), [(0, 1), (0, 50), (0, 300), (1, 20), (7, 25), (24, 25)])
def test_the_bound_is_the_exact_one(bad: int, tried: int) -> None:
    """At the bound, seeing as few bad states as were seen has a probability of five in a hundred."""
    assert binom.cdf(bad, tried, upper_bound(bad, tried)) == pytest.approx(0.05)


def test_the_bound_for_none_is_near_the_rule_of_three() -> None:
    assert upper_bound(0, 300) == pytest.approx(3 / 300, rel=0.01)
    assert upper_bound(5, 5) == upper_bound(0, 0) == 1.0


def test_a_log_that_disagrees_breaks_what_needs_it() -> None:
    results = [*SOUND, state(11, DamageKind.LOG), *CONTROLS]
    found = judged(results)
    subject = found.arms[0]
    assert (subject.level, subject.losing, subject.corrupt, subject.disagreeing) == (Level.L3, 0, 0, 1)
    assert found.verdict is Verdict.FAIL
    assert "in 1 of 11" in found.says
    # A contract without replicas and recoveries to a moment does not need that log.
    assert judged(results, on=plan(log_agrees=False)).verdict is Verdict.PASS
    # A control that shows nothing else is caught by it.
    lossy = judged([*SOUND, state(1, DamageKind.LOG, arm="lossy"), CONTROLS[1]])
    assert (lossy.verdict, lossy.arms[1].caught) == (Verdict.PASS, True)
