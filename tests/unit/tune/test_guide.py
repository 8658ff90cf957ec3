"""Trials that are made for what holds the incumbent back: from made trials, and in a study on the simulated server."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console
from simulated import MACHINE, SPACE, SimClock, SimServer, essence, plan_of, study_of

from dbdyno.cli._tuneview import View
from dbdyno.model.contract import Contract
from dbdyno.model.knob import Assignment, Change, Knob, KnobSpace, Level
from dbdyno.model.run import Doubt, DoubtNote
from dbdyno.model.trial import Cause, Trial, TrialKind, TrialStatus
from dbdyno.report.studyview import view_study
from dbdyno.tune import guide
from dbdyno.tune.contract import judge, narrow
from dbdyno.tune.propose import frozen_trials
from dbdyno.tune.store import open_study

CONTRACT = Contract(recovery_s_max=60.0)
NARROWED = narrow(SPACE, CONTRACT, MACHINE)
KNOBS = {knob.name: knob for knob in SPACE.knobs}


def cause(rule: str = "pages-read-twice", durability: Level | None = None, **changes: str) -> Cause:
    return Cause(rule=rule, says=f"{rule} was seen.", changes=changes, durability=durability)


def trial(number: int, assignment: Assignment, tps: float, *causes: Cause, **fields: Any) -> Trial:
    made: dict[str, Any] = {
        "kind": TrialKind.SEARCH if number > 1 else TrialKind.BASELINE,
        "name": "" if number > 1 else "default",
        "status": TrialStatus.KEPT,
        "started_unix_s": 60.0 * number,
        **fields,
    }
    return Trial(number=number, assignment=assignment, score=tps, tps=tps, tps_charged=tps, causes=causes, **made)


def proposed(*trials: Trial, space: KnobSpace = NARROWED, contract: Contract = CONTRACT) -> guide.Guided | None:
    knobs = guide.changeable(space, (), restart=True)
    return guide.propose(trials, knobs, space=space, contract=contract, machine=MACHINE)


def test_the_incumbent_gets_the_whole_change_of_its_first_cause() -> None:
    best = trial(2, {"compress": "fast"}, 120, cause(cache="400", delay="5"), cause("other", log_size="99"))
    found = proposed(trial(1, {}, 100), best)
    assert found is not None
    assert found.assignment == {"compress": "fast", "cache": 400, "delay": 5}
    assert found.cause == "pages-read-twice"
    assert found.why == "cache = 400, delay = 5 (trial 2: pages-read-twice was seen.)"


def test_what_the_default_showed_counts_where_the_incumbent_left_it_alone() -> None:
    default = trial(1, {}, 100, cause("a", cache="400"), cause("b", log_size="99"))
    found = proposed(default, trial(2, {"cache": 50}, 120))
    assert found is not None
    assert (found.cause, found.assignment) == ("b", {"cache": 50, "log_size": 99})
    assert found.why.endswith("(trial 1: b was seen.)")


def test_the_last_run_that_shows_a_cause_counts() -> None:
    first = trial(1, {}, 100, cause("a", cache="400"), cause("b", delay="5"))
    again = trial(2, {}, 100, cause("b", delay="9"), kind=TrialKind.ANCHOR)
    found = proposed(first, again)
    assert found is not None
    assert (found.assignment, found.why) == ({"delay": 9}, "delay = 9 (trial 2: b was seen.)")
    blind = trial(2, {}, 100, kind=TrialKind.ANCHOR)
    found = proposed(first, blind)
    assert found is not None
    assert found.why == "cache = 400 (trial 1: a was seen.)"


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("delay", "500", 100),
        ("cache", "1", 1),
        ("cache", "5.4", 5),
        ("compress", "FAST", "fast"),
        ("delay", "7e9", 100),
    ],
)
def test_values_are_clamped_to_what_the_knob_takes(name: str, text: str, value: object) -> None:
    assert guide.changed({}, cause(**{name: text}), [KNOBS[name]], 1.0) == {name: value}


@pytest.mark.parametrize(
    "changes",
    [{"compress": "best"}, {"cache": "ANY 1 (…)"}, {"cache": ""}, {"cache": "nan"}, {"sync": "off"}, {"nothing": "1"}],
)
def test_what_no_knob_takes_is_not_proposed(changes: dict[str, str]) -> None:
    assert proposed(trial(1, {}, 100, cause(**changes))) is None


def test_nothing_is_proposed_without_a_finding_or_an_incumbent() -> None:
    assert proposed(trial(1, {}, 100)) is None
    assert proposed(msgspec.structs.replace(trial(1, {}, 100), causes=None)) is None
    assert proposed(trial(1, {}, 100, cause(cache="400"), status=TrialStatus.FAILED)) is None


def test_the_contract_is_kept() -> None:
    best = trial(2, {"buffer": 600}, 120, cause(cache="2000", log_size="10000"))
    found = proposed(trial(1, {}, 100), best)
    assert found is not None
    assert judge(found.assignment, NARROWED, CONTRACT, MACHINE) == []
    assert float(found.assignment["cache"]) > 10
    # The same without the repair would not have been allowed.
    assert judge({"buffer": 600, "cache": 2000, "log_size": 10000}, NARROWED, CONTRACT, MACHINE)
    # What keeps less than is promised is left alone.
    loses = trial(1, {}, 100, cause(cache="400", durability=Level.L2))
    assert proposed(loses) is None
    assert proposed(loses, contract=Contract(level=Level.L2, recovery_s_max=60.0)) is not None


def test_first_the_whole_way_then_half_of_it_then_no_more() -> None:
    default = trial(1, {}, 100, cause(cache="1000", delay="80"))
    tried, wanted = [default], [{"cache": 790, "delay": 80}, {"cache": 100, "delay": 40}]
    for number, expected in enumerate(wanted, start=2):
        found = proposed(*tried)
        assert found is not None
        # The memory of the machine bounds the cache; from nothing, half of the delay is the middle.
        assert found.assignment == pytest.approx(expected, rel=0.02)
        tried.append(trial(number, found.assignment, 90, cause=found.cause))
    assert proposed(*tried) is None


def test_a_change_that_helped_goes_on_while_the_cause_is_there() -> None:
    asks = cause(cache="40")
    first = trial(2, {"cache": 40}, 120, asks, cause=asks.rule)
    found = proposed(trial(1, {}, 100, asks), first)
    assert found is not None
    assert found.assignment == {"cache": 80}
    # Downwards as well, where the advice was to lower; a word has no further.
    low = Knob(name="low", title="", low=1, high=100, default=100)
    assert guide.changed({"low": 50}, cause(low="50"), [low], 1.0) == {"low": 25}
    assert guide.changed({"compress": "fast"}, cause(compress="fast"), [KNOBS["compress"]], 1.0) == {"compress": "fast"}


def test_a_cause_that_did_not_help_twice_is_given_up_whoever_is_the_incumbent() -> None:
    asks = cause(cache="400")
    trials = [trial(1, {}, 100, asks)]
    trials += [trial(number, {"cache": number}, 90, cause=asks.rule) for number in (2, 3)]
    found = proposed(*trials, trial(4, {"log_size": 50}, 120, asks, cause("b", delay="5")))
    assert found is not None
    assert found.cause == "b"
    # One that helped is none of the two, though something else is the best by now.
    helped = msgspec.structs.replace(trials[1], tps_charged=110.0)
    found = proposed(trials[0], helped, trials[2], trial(4, {"log_size": 50}, 120, asks))
    assert found is not None
    assert found.cause == asks.rule


def test_nothing_is_proposed_that_was_measured_already() -> None:
    asks = cause(compress="fast")
    by_sampler = trial(2, {"compress": "fast", "cache": 10, "delay": 0}, 90)
    assert proposed(trial(1, {}, 100, asks)) is not None
    # The same but for settings that stand at their defaults, and failed.
    assert proposed(trial(1, {}, 100, asks), by_sampler) is None
    failed = msgspec.structs.replace(by_sampler, status=TrialStatus.FAILED)
    assert proposed(trial(1, {}, 100, asks), failed) is None


def test_only_named_knobs_and_only_what_can_be_changed_here() -> None:
    knobs = (
        Knob(name="live", title="", low=1, high=9, default=1),
        Knob(name="later", title="", low=1, high=9, default=1, change=Change.RESTART),
        Knob(name="never", title="", low=1, high=9, default=1, change=Change.REBUILD),
    )
    space = KnobSpace(knobs=knobs, guards=())
    assert [knob.name for knob in guide.changeable(space, (), restart=True)] == ["live", "later"]
    assert [knob.name for knob in guide.changeable(space, (), restart=False)] == ["live"]
    assert [knob.name for knob in guide.changeable(space, ("later",), restart=True)] == ["later"]


@pytest.mark.parametrize(("trials_max", "most"), [(4, 0), (5, 1), (8, 2), (24, 7)])
def test_a_third_of_what_is_not_a_baseline_is_for_guided_trials(trials_max: int, most: int) -> None:
    baselines = [trial(number, {}, 100, kind=TrialKind.BASELINE) for number in (1, 2, 3)]
    guided = [trial(number, {"cache": number}, 90, cause="a") for number in range(4, 4 + most)]
    # A second attempt is not another one, and the sampler's own are not counted.
    others = [trial(98, {"cache": 4}, 90, cause="a", kind=TrialKind.REPEAT), trial(99, {"cache": 99}, 90)]
    assert not guide.budget_is_left([*baselines, *guided, *others], trials_max)
    if guided:
        assert guide.budget_is_left([*baselines, *guided[1:], *others], trials_max)


def test_a_folder_that_is_no_run_explains_nothing(tmp_path: Path) -> None:
    assert guide.causes_of(tmp_path) is None


# --- in a study


def held_back(now: Mapping[str, Any]) -> tuple[Cause, ...]:
    """The planted truth: the log until it is long, compression until it is fast."""
    small_log = cause("log-too-small", log_size="1000", durability=Level.L3)
    slow = cause("writes-too-much", compress="fast")
    return tuple(
        one
        for one, there in ((small_log, float(now.get("log_size", 10)) < 500), (slow, now.get("compress") != "fast"))
        if there
    )


def test_a_study_tries_what_explains_its_runs_and_keeps_what_it_found(tmp_path: Path) -> None:
    plan = plan_of(trials_max=9, confirm_pairs=1, ablate=False, guide=True)
    study = study_of(tmp_path / "s", SimServer(SimClock(), noise=0.0), plan, explain=held_back)
    study.run()
    guided = [one for one in study.trials if one.cause and one.kind is TrialKind.SEARCH]
    assert [one.number for one in guided[:2]] == [4, 5]
    assert guided[0].assignment == {"cache": 100, "log_size": 1000}
    assert guided[1].assignment == {"cache": 100, "log_size": 1000, "compress": "fast"}
    assert guided[1].why == "compress = fast (trial 4: writes-too-much was seen.)"
    # The rest is the sampler's, which knows these trials too.
    assert len(guided) == 2
    told = frozen_trials(study.trials[:5], study.knobs, guide.drifts.estimate(study.trials[:5]))
    assert [one.params["compress"] for one in told] == ["off"] * 4 + ["fast"]
    kept = open_study(tmp_path / "s").trials
    assert kept[0].causes == held_back({})
    assert kept[4].cause == "writes-too-much"
    assert kept == study.trials


def test_the_reason_is_in_the_trial_s_line_in_its_json_and_in_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = plan_of(trials_max=6, confirm_pairs=0, ablate=False, guide=True)
    study = study_of(tmp_path / "s", SimServer(SimClock(), noise=0.0), plan, explain=held_back)
    study.run()
    said = io.StringIO()
    console = Console(file=said, width=300)
    for json_lines in (False, True):
        View(console, console, plan, json_lines=json_lines).trial(study.trials[3], study.trials[:4])
    why = "log_size = 1000 (trial 2: log-too-small was seen.)"
    assert f"against log-too-small: {why}" in said.getvalue()
    told = json.loads(capsys.readouterr().out)
    assert (told["cause"], told["why"]) == ("log-too-small", why)
    view = view_study(tmp_path / "s")
    assert f"against log-too-small: {why}" in view.trials[3].says
    assert "1 of them were made for what explains" in view.trials_says


@pytest.mark.parametrize("at", [2, 4, 5, 7])
def test_resumed_it_makes_the_same_guided_trials(tmp_path: Path, at: int) -> None:
    plan = plan_of(trials_max=9, confirm_pairs=1, ablate=False, guide=True)
    whole = study_of(tmp_path / "whole", SimServer(SimClock(), noise=0.0), plan, explain=held_back)
    whole.run()
    cut = SimServer(SimClock(), noise=0.0, interrupt_at=at)
    with pytest.raises(KeyboardInterrupt):
        study_of(tmp_path / "cut", cut, plan, explain=held_back).run()
    record = open_study(tmp_path / "cut")
    resumed = study_of(tmp_path / "cut", SimServer(SimClock(), noise=0.0), plan, record=record, explain=held_back)
    resumed.run()
    assert essence(resumed.trials) == essence(whole.trials)
    assert [(one.cause, one.why) for one in resumed.trials] == [(one.cause, one.why) for one in whole.trials]
    assert sum(bool(one.cause) for one in whole.trials) >= 2


@pytest.mark.parametrize(
    ("guided", "explain"), [(False, held_back), (True, lambda _now: ()), (True, lambda _now: None)]
)
def test_switched_off_or_without_a_finding_the_search_is_the_sampler_s(
    tmp_path: Path, guided: bool, explain: Any
) -> None:
    plan = plan_of(trials_max=7, confirm_pairs=0, ablate=False)
    plain = study_of(tmp_path / "plain", SimServer(SimClock(), noise=0.0), plan)
    plain.run()
    changed = msgspec.structs.replace(plan, guide=guided)
    study = study_of(tmp_path / "s", SimServer(SimClock(), noise=0.0), changed, explain=explain)
    study.run()
    assert essence(study.trials) == essence(plain.trials)
    assert not any(one.cause for one in study.trials)


def test_a_doubtful_guided_trial_is_measured_again_for_the_same_cause(tmp_path: Path) -> None:
    note = DoubtNote(doubt=Doubt.NOISY_NEIGHBOUR, says="something else ran")
    server = SimServer(SimClock(), noise=0.0, doubts_of=lambda number: (note,) if number == 4 else ())
    plan = plan_of(trials_max=9, confirm_pairs=0, ablate=False, guide=True)
    study = study_of(tmp_path / "s", server, plan, explain=held_back)
    study.run()
    first, second = study.trials[3:5]
    assert (first.status, first.causes) == (TrialStatus.DOUBTED, None)
    assert (second.kind, second.cause, second.why) == (TrialKind.REPEAT, first.cause, first.why)
    # What the second attempt showed leads on.
    assert study.trials[5].kind is TrialKind.ANCHOR
    assert study.trials[6].cause == "writes-too-much"
    assert study.trials[6].why.startswith("compress = fast (trial 6:")
