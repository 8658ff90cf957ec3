"""The whole loop on a simulated server."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from simulated import BEST, MACHINE, SimClock, SimServer, essence, plan_of, speed, study_of

from dbdyno.model.errors import RecordError, TargetError
from dbdyno.model.finding import Verdict
from dbdyno.model.run import Doubt, DoubtNote
from dbdyno.model.trial import TrialKind, TrialStatus
from dbdyno.tune import confirm, search
from dbdyno.tune.contract import judge
from dbdyno.tune.store import StudyStore, open_study


@pytest.mark.slow
def test_finds_the_planted_optimum_within_the_budget(tmp_path: Path) -> None:
    server = SimServer(SimClock())
    outcome = study_of(tmp_path / "s", server, plan_of(trials_max=22, sampler="auto", ablate=False)).run()
    assert outcome.status == "done"
    assert speed(outcome.winner) > 0.9 * BEST
    record = open_study(tmp_path / "s")
    assert sum(trial.kind in (TrialKind.BASELINE, TrialKind.SEARCH) for trial in record.trials) == 22
    by_figure = {(one.a, one.figure): one for one in outcome.comparisons}
    over_default = by_figure[("default", "tps_charged")]
    truth = speed(outcome.winner) / speed({})
    assert over_default.verdict == "faster"
    assert over_default.low < truth * 1.03
    assert over_default.high > truth * 0.97
    assert by_figure[("default", "rate_p99_ms")].ratio < 1.0


@pytest.mark.slow
def test_the_study_never_asks_for_what_breaks_the_contract(tmp_path: Path) -> None:
    server = SimServer(SimClock())
    study = study_of(tmp_path / "s", server, plan_of(trials_max=30))
    study.run()
    assert len(server.asked) > 30
    for assignment in server.asked:
        assert assignment["archive"] == "on"
        assert judge(assignment, study.bench.space, study.bench.contract, MACHINE) == []
        planned = float(assignment.get("cache", 10)) + float(assignment.get("buffer", 1))
        assert planned <= 0.8 * MACHINE.memory_bytes
        assert float(assignment.get("log_size", 10)) / 100.0 <= 60.0


def test_write_debt_makes_a_deferring_configuration_lose(tmp_path: Path) -> None:
    # A large log looks up to half faster here and owes more than that.
    def debt(assignment: dict[str, object]) -> float:
        return 1.0 if float(str(assignment.get("log_size", 10))) > 100 else 0.0

    server = SimServer(SimClock(), debt_per_s=debt)
    study = study_of(tmp_path / "s", server, plan_of(trials_max=30, ablate=False))
    outcome = study.run()
    assert float(str(outcome.winner["log_size"])) <= 100
    formula = next(trial for trial in study.trials if trial.name == "formula" and trial.kind is TrialKind.BASELINE)
    assert formula.drain_s == pytest.approx(20.0)
    assert formula.tps_charged == pytest.approx((formula.tps or 0) / 2, rel=0.01)


def test_failed_starts_are_recorded_explained_and_avoided(tmp_path: Path) -> None:
    server = SimServer(SimClock(), fails_above=300)
    study = study_of(tmp_path / "s", server, plan_of(trials_max=30, confirm_pairs=1, ablate=False))
    outcome = study.run()
    failed = [trial for trial in study.trials if trial.status is TrialStatus.FAILED]
    assert all("could not map shared memory" in trial.error for trial in failed)
    assert all(float(str(trial.assignment["cache"])) > 300 for trial in failed)
    assert float(str(outcome.winner["cache"])) <= 300
    assert speed(outcome.winner) > 0.85 * BEST


def test_when_nothing_starts_the_study_stops_and_can_be_resumed(tmp_path: Path) -> None:
    server = SimServer(SimClock(), fails_above=0)
    with pytest.raises(TargetError, match="not their configurations"):
        study_of(tmp_path / "s", server, plan_of()).run()
    record = open_study(tmp_path / "s")
    assert len(record.trials) == search.FAILURES_MAX
    assert record.outcome is not None
    assert record.outcome.status == "failed"
    assert server.restored == 1


@pytest.mark.parametrize("at", [1, 4, 13, 22, 40])
def test_interrupted_and_resumed_is_as_not_interrupted(tmp_path: Path, at: int) -> None:
    plan = plan_of(trials_max=10, confirm_pairs=3, sampler="tpe")
    # Without noise nothing depends on the time of day that an interruption shifts.
    whole = study_of(tmp_path / "whole", SimServer(SimClock(), noise=0.0), plan)
    done = whole.run()
    cut = SimServer(SimClock(), noise=0.0, interrupt_at=at)
    with pytest.raises(KeyboardInterrupt):
        study_of(tmp_path / "cut", cut, plan).run()
    assert cut.restored == 1
    record = open_study(tmp_path / "cut")
    assert record.outcome is not None
    assert record.outcome.status == "interrupted"
    # A kill can cut the last line; it must not be in the way.
    with (tmp_path / "cut" / "trials.jsonl").open("ab") as file:
        file.write(b'{"number": 99, "ki')
    record = open_study(tmp_path / "cut")
    resumed = study_of(tmp_path / "cut", SimServer(SimClock(), noise=0.0), plan, record=record)
    again = resumed.run()
    assert essence(resumed.trials) == essence(whole.trials)
    assert [trial.number for trial in open_study(tmp_path / "cut").trials] == list(range(1, len(whole.trials) + 1))
    assert again.winner == done.winner
    assert again.contract["recovery_s"] == 3.0


def test_anchors_correct_a_drifting_machine(tmp_path: Path) -> None:
    # Over the search the machine loses a third of its speed, in steps that pass for bad configurations.
    server = SimServer(SimClock(), drift=lambda at_s: -0.4 * min(at_s / 1500.0, 1.0))
    study = study_of(tmp_path / "s", server, plan_of(trials_max=30, ablate=False))
    outcome = study.run()
    assert isinstance(outcome.noise["drift_span"], float)
    assert outcome.noise["drift_span"] > 0.15
    assert speed(outcome.winner) > 0.88 * BEST
    over_default = next(one for one in outcome.comparisons if one.a == "default" and one.figure == "tps_charged")
    truth = speed(outcome.winner) / speed({})
    assert over_default.ratio == pytest.approx(truth, rel=0.05)


def test_a_doubtful_trial_is_measured_again_and_not_believed(tmp_path: Path) -> None:
    note = DoubtNote(doubt=Doubt.DRIVER_SATURATED, says="busy")
    server = SimServer(SimClock(), doubts_of=lambda number: (note,) if number == 2 else ())
    study = study_of(tmp_path / "s", server, plan_of(trials_max=6, confirm_pairs=1, ablate=False))
    study.run()
    second, third = study.trials[1], study.trials[2]
    assert (second.name, second.status) == ("formula", TrialStatus.DOUBTED)
    assert (third.kind, third.name, third.status) == (TrialKind.REPEAT, "formula", TrialStatus.KEPT)
    assert third.assignment == second.assignment
    formula = search.best_formula(study.trials)
    assert formula is not None
    assert formula.number != 2


def test_a_setting_that_the_server_does_not_take_over_fails_the_trial(tmp_path: Path) -> None:
    server = SimServer(SimClock(), ignores=frozenset({"cache"}))
    study = study_of(tmp_path / "s", server, plan_of(trials_max=3, confirm_pairs=0, ablate=False))
    study.run()
    formula = next(trial for trial in study.trials if trial.name == "formula")
    assert formula.status is TrialStatus.FAILED
    assert "cache is 10" in formula.error


def test_a_server_that_breaks_the_contract_when_it_runs_fails_the_trial(tmp_path: Path) -> None:
    server = SimServer(SimClock(), effective={"sync": "off"})
    with pytest.raises(TargetError):
        study_of(tmp_path / "s", server, plan_of()).run()
    trials = open_study(tmp_path / "s").trials
    assert all("sync = off, the contract needs on for L3 (loses data)" in trial.error for trial in trials)


def test_settings_unknown_to_the_server_are_left_out_of_a_formula(tmp_path: Path) -> None:
    server = SimServer(SimClock())
    study = study_of(tmp_path / "s", server, plan_of(trials_max=3, confirm_pairs=0, ablate=False))
    study.run()
    other = next(trial for trial in study.trials if trial.name == "other")
    assert other.assignment == {"cache": 50}


def test_the_time_limit_ends_the_search_and_leaves_time_to_confirm(tmp_path: Path) -> None:
    server = SimServer(SimClock())
    plan = plan_of(trials_max=200, time_limit_s=1200.0)
    study = study_of(tmp_path / "s", server, plan)
    study.run()
    assert sum(trial.kind is TrialKind.CONFIRM for trial in study.trials) == 12
    assert sum(trial.kind is TrialKind.SEARCH for trial in study.trials) > 5
    assert study.elapsed_s() < 1200.0 + 60.0


def test_bad_candidates_are_cut_short_and_good_ones_are_not(tmp_path: Path) -> None:
    server = SimServer(SimClock())
    study = study_of(tmp_path / "s", server, plan_of(trials_max=30, sampler="random", confirm_pairs=0, ablate=False))
    study.run()
    cut = [trial for trial in study.trials if trial.status is TrialStatus.REJECTED]
    assert cut
    for trial in cut:
        assert "cut short" in trial.says
        assert trial.seconds < 15.0
        assert speed(trial.assignment) < 0.75 * BEST


def test_ablation_tells_what_matters_from_what_does_not(tmp_path: Path) -> None:
    server = SimServer(SimClock(), noise=0.01)
    study = study_of(tmp_path / "s", server, plan_of(trials_max=30))
    outcome = study.run()
    without = {name: value for name, value in outcome.winner.items() if name != "cache"}
    truth = speed(outcome.winner) / speed(without)
    found = outcome.contributions["cache"]
    assert found["low"] <= truth <= found["high"]
    assert found["low"] > 1.2
    nothing = outcome.contributions["noise_only"]
    assert nothing["low"] < 1.0 < nothing["high"]
    lines = {line.split(" = ")[0]: line for line in outcome.configuration_file.splitlines() if " = " in line}
    assert "contributes x" in lines["cache"]
    assert "no effect shown" in lines["noise_only"]
    assert "the contract needs it" in lines["archive"]
    assert (tmp_path / "s" / "winner.conf").read_text() == outcome.configuration_file
    assert (tmp_path / "s" / "winner.sql").read_text().count("SET cache = ") == 1


def test_nobody_is_called_safe(tmp_path: Path) -> None:
    outcome = study_of(tmp_path / "s", SimServer(SimClock()), plan_of(trials_max=4, confirm_pairs=1)).run()
    facts = outcome.contract
    assert facts["static"] == Verdict.PASS
    assert facts["read_back"] == Verdict.PASS
    assert facts["recovery_s"] == 3.0
    assert facts["power_loss"] == Verdict.UNKNOWN
    assert facts["kept"] is None


def test_a_slow_recovery_breaks_the_contract(tmp_path: Path) -> None:
    class Slow(SimServer):
        def recover(self, *args: object, **more: object) -> object:  # type: ignore[override]
            found = super().recover(*args, **more)  # type: ignore[arg-type]
            return type(found)(seconds=61.0, loaded_s=22.0)  # type: ignore[misc]

    outcome = study_of(tmp_path / "s", Slow(SimClock()), plan_of(trials_max=4, confirm_pairs=1)).run()
    assert outcome.contract["recovery"] == Verdict.FAIL
    assert outcome.contract["kept"] is False


def test_what_cannot_be_restored_is_said_in_capitals(tmp_path: Path) -> None:
    server = SimServer(SimClock(), left=["cache is still 400"])
    outcome = study_of(tmp_path / "s", server, plan_of(trials_max=3, confirm_pairs=0, ablate=False)).run()
    assert "NOT RESTORED: CACHE IS STILL 400" in outcome.error


def test_a_noisy_moment_is_waited_out_and_then_doubted(tmp_path: Path) -> None:
    clock = SimClock()
    slow_until = {"at": -1.0}

    def probe() -> dict[str, object]:
        return {"spin_per_us": 5.0 if clock.now < slow_until["at"] else 10.0}

    server = SimServer(clock)
    study = study_of(tmp_path / "s", server, plan_of(trials_max=8, confirm_pairs=0, ablate=False), probe=probe)
    seen = {"fifth": False}

    def disturb(_step: object, trials: object) -> None:
        # The fifth trial meets a neighbour that stays a minute, longer than is waited for.
        if len(trials) == 4 and not seen["fifth"]:  # type: ignore[arg-type]
            seen["fifth"] = True
            slow_until["at"] = clock.now + 15.0

    study.on_step = disturb
    study.run()
    fifth, sixth = study.trials[4], study.trials[5]
    assert any(note.doubt is Doubt.NOISY_NEIGHBOUR for note in fifth.doubts)
    assert fifth.status in (TrialStatus.DOUBTED, TrialStatus.REJECTED)
    if fifth.status is TrialStatus.DOUBTED:
        assert sixth.kind is TrialKind.REPEAT
        assert sixth.status is TrialStatus.KEPT


def test_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    store = StudyStore(tmp_path / "s")
    store.create(plan_of())
    with pytest.raises(RecordError, match="already"):
        store.create(plan_of())


def test_the_study_folder_is_as_documented(tmp_path: Path) -> None:
    study_of(tmp_path / "s", SimServer(SimClock()), plan_of(trials_max=4, confirm_pairs=1, ablate=False)).run()
    folder = tmp_path / "s"
    for line in (folder / "trials.jsonl").read_text().splitlines():
        trial = json.loads(line)
        for run in trial["runs"]:
            assert (folder / run).is_dir()
    assert json.loads((folder / "outcome.json").read_text())["status"] == "done"
    assert (folder / "optuna.journal").exists()


def test_confirmation_runs_the_arms_in_turn_and_back(tmp_path: Path) -> None:
    study = study_of(tmp_path / "s", SimServer(SimClock()), plan_of(trials_max=12, confirm_pairs=2, ablate=False))
    study.run()
    names = [trial.name for trial in study.trials if trial.kind is TrialKind.CONFIRM]
    assert names == ["default", "formula", "winner", "winner", "formula", "default"]
    rate = confirm.fixed_rate(study.trials, 0.7)
    assert rate == pytest.approx(0.7 * search.default_tps(study.trials), abs=0.1)
    assert all(trial.rate_p99_ms for trial in study.trials if trial.kind is TrialKind.CONFIRM)
    aa = study.outcome.noise
    assert aa["aa_pairs"] == 1
    assert math.isfinite(float(str(aa["aa_log_ratio_sd"])))
