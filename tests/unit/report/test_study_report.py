"""Reports of studies: whole, interrupted, with parts lost, hostile."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import make_study
import msgspec
import pytest
from click.testing import CliRunner
from test_run_report import HOSTILE

from dbdyno.cli.list_ import command as list_
from dbdyno.model.contract import Contract
from dbdyno.model.errors import RecordError
from dbdyno.model.finding import Verdict
from dbdyno.model.record import from_json, to_json
from dbdyno.model.trial import StudyOutcome, StudyPlan, TrialKind, TrialStatus
from dbdyno.report import contract
from dbdyno.report.study import render_study, write_study_report
from dbdyno.report.studyview import confirmation_rounds, view_study
from dbdyno.report.text import study_text
from dbdyno.tune.store import open_study


def outcome_of(study: Path) -> StudyOutcome:
    return from_json((study / "outcome.json").read_bytes(), StudyOutcome)


def test_the_answer_is_the_confirmed_ratio_with_its_interval(study: Path) -> None:
    view = view_study(study)
    main = next(one for one in outcome_of(study).comparisons if one.figure == "tps_charged" and one.a == "default")
    assert view.answer.verdict == "faster"
    assert f"{main.ratio:.2f}" in view.answer.says
    assert f"{main.low:.2f} … {main.high:.2f}" in view.answer.says
    assert "3 interleaved pairs" in view.answer.says
    assert "unknown: power-loss proof" in view.answer.says


@pytest.mark.parametrize(
    ("verdict", "words"),
    [("slower", "is slower than the default"), ("no difference shown", "No difference in throughput")],
)
def test_the_answer_says_when_nothing_was_gained(study: Path, tmp_path: Path, verdict: str, words: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(study, copy)
    outcome = outcome_of(study)
    changed = tuple(msgspec.structs.replace(one, verdict=verdict) for one in outcome.comparisons)
    (copy / "outcome.json").write_bytes(to_json(msgspec.structs.replace(outcome, comparisons=changed)))
    assert words in view_study(copy).answer.says


def test_the_contract_is_never_called_safer_than_tested(study: Path) -> None:
    checks = {check.title: check.verdict for check in view_study(study).checks}
    assert checks["Power-loss proof"] == Verdict.UNKNOWN
    assert list(checks.values()).count(Verdict.PASS) == 3
    plan = from_json((study / "study.json").read_bytes(), StudyPlan)
    outcome = outcome_of(study)
    broken = msgspec.structs.replace(outcome, contract={**outcome.contract, "recovery": "fail", "recovery_s": 300.0})
    assert contract.summary(plan, broken) == "It breaks the L3 contract: recovery after a crash."
    assert contract.summary(plan, None) == "Whether it keeps the L3 contract was not tested."
    limited = msgspec.structs.replace(plan, contract=Contract(p99_ms_max=10.0))
    verdicts = {check.title: check.verdict for check in contract.checks(limited, outcome)}
    assert verdicts["Response time limit"] == Verdict.UNKNOWN


def test_arms_stand_side_by_side(study: Path) -> None:
    view = view_study(study)
    assert [arm.name for arm in view.arms] == ["default", "formula", "pgtune", "winner"]
    assert [arm.confirmed for arm in view.arms] == [True, True, False, True]
    assert len({arm.color for arm in view.arms}) == 4
    assert all(0 <= bar.fraction <= 1 for card in view.bars for bar in card.bars)
    assert [row[0] for row in view.debts[0].rows] == [arm.name for arm in view.arms]


def test_trials_show_best_so_far_failures_and_doubts(study: Path) -> None:
    rows = view_study(study).trials
    best = [row.best for row in rows if row.best is not None]
    assert best == sorted(best)
    assert [row.number for row in rows if row.status == "failed"] == [9, 21]
    assert all(row.score is None for row in rows if row.status == "failed")
    doubted = next(row for row in rows if row.status == "doubted")
    assert "Steal time" in doubted.says


def test_pairs_follow_the_rounds_of_the_confirmation(study: Path) -> None:
    view = view_study(study)
    main = next(one for one in outcome_of(study).comparisons if one.figure == "tps_charged" and one.a == "default")
    group = next(one for one in view.pairs if one.a == "default")
    assert [pair.b / pair.a for pair in group.pairs] == pytest.approx(list(main.ratios))


def test_a_doubted_confirmation_run_is_replaced_by_its_repetition(study: Path) -> None:
    trials = [one for one in open_study(study).trials if one.kind == TrialKind.CONFIRM]
    doubted = msgspec.structs.replace(trials[1], status=TrialStatus.DOUBTED, tps_charged=1.0)
    rounds = confirmation_rounds([trials[0], doubted, *trials[1:]])
    assert len(rounds) == 3
    assert rounds[0][trials[1].name] == trials[1]
    plain = confirmation_rounds(trials)
    assert [sorted(turn) for turn in plain] == [["default", "formula", "winner"]] * 3


def test_the_winner_is_a_difference_with_contributions(study: Path) -> None:
    view = view_study(study)
    rows = {row.name: row for row in view.knobs}
    assert set(rows) == set(make_study.changed(make_study.WINNER))
    assert rows["shared_buffers"].before == "128\u00a0MiB"
    assert rows["checkpoint_timeout"].after == "15\u00a0min"
    assert rows["max_wal_size"].effect is not None
    assert rows["max_wal_size"].effect.verdict == "helps"
    assert rows["bgwriter_lru_maxpages"].effect is not None
    assert rows["bgwriter_lru_maxpages"].effect.verdict == "no effect shown"
    assert view.configuration == (study / "winner.conf").read_text().strip()
    assert view.statements.startswith("ALTER SYSTEM")


def test_before_and_after_are_drawn_on_one_axis(study: Path) -> None:
    tps, p99 = view_study(study).charts
    assert [line.label for line in tps.lines] == ["default", "winner"]
    assert tps.x == p99.x
    assert all(len(line.values) == len(tps.x) for line in (*tps.lines, *p99.lines))
    assert {mark.color for mark in tps.marks} <= {0, 1}


def test_an_interrupted_study_makes_no_claim(tmp_path: Path) -> None:
    view = view_study(make_study.make_study(tmp_path / "cut", confirmed=False, runs=False))
    assert view.answer.verdict == "unknown"
    assert view.answer.big == ""
    assert set(view.gone) >= {"confirmation", "contributions", "winner", "charts"}
    assert {check.verdict for check in view.checks} == {Verdict.UNKNOWN}
    page = render_study(view)
    assert "no ratio is claimed" in page
    assert "best so far" in page


def test_a_study_that_ended_with_the_default_says_so_with_the_doubts_of_its_search(tmp_path: Path) -> None:
    folder = make_study.make_study(tmp_path / "kept", confirmed=False, runs=False)
    says = {"recovery": "unknown", "recovery_s": 0.6, "recovery_says": "0.6 s under 3 s of load; too little to know"}
    (folder / "outcome.json").write_bytes(to_json(StudyOutcome(status="done", contract=says)))
    view = view_study(folder)
    assert "noisy_neighbour" in {note.kind for note in view.doubts}, "no confirmation: the search's own doubts count"
    assert view.answer.verdict == "default"
    assert "nothing to confirm" in view.answer.says
    assert "The default won" in view.gone["winner"]
    assert "The default stays" in render_study(view)
    assert any("too little to know" in check.why for check in view.checks), "an unknown says why"


@pytest.mark.parametrize(
    ("outcome", "status"),
    [('{"status": "interrupted"}', "interrupted"), ("", "cut off or running"), ("{", "not readable")],
)
def test_the_list_says_what_a_study_was_and_how_it_ended(tmp_path: Path, outcome: str, status: str) -> None:
    folder = make_study.make_study(tmp_path / "studies" / "one", confirmed=False, runs=False)
    (folder / "outcome.json").unlink(missing_ok=True)
    if outcome:
        (folder / "outcome.json").write_text(outcome)
    result = CliRunner().invoke(list_, ["--format", "json"], env={"DYNO_HOME": str(tmp_path)})
    (row,) = json.loads(result.output)
    assert row["status"] == status
    assert status == "not readable" or row["what"].startswith("tune ")


@pytest.mark.parametrize("name", ["outcome.json", "trials.jsonl", "winner.conf", "winner.sql", "runs"])
def test_a_lost_part_becomes_a_sentence(study: Path, tmp_path: Path, name: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(study, copy)
    shutil.rmtree(copy / name) if name == "runs" else (copy / name).unlink()
    view = view_study(copy)
    assert "</html>" in render_study(view)
    assert study_text(view)
    if name == "runs":
        assert any(note.kind == "lost" for note in view.doubts)
        assert view.charts == []
        assert "cannot be drawn" in view.gone["charts"]


def test_a_study_without_trials_has_no_answer_yet(study: Path, tmp_path: Path) -> None:
    (tmp_path / "study.json").write_bytes((study / "study.json").read_bytes())
    view = view_study(tmp_path)
    assert "no answer yet" in view.answer.says
    assert "</html>" in render_study(view)
    assert study_text(view)


def test_a_cut_last_line_is_passed_over(study: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(study, copy)
    whole = len(view_study(copy).trials)
    with (copy / "trials.jsonl").open("a") as file:
        file.write('{"number": 99, "kin')
    assert len(view_study(copy).trials) == whole


def test_one_pair_has_no_interval_to_draw(study: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(study, copy)
    outcome = outcome_of(study)
    single = tuple(
        msgspec.structs.replace(one, low=0.0, high=1e9, pairs=1, ratios=one.ratios[:1], verdict="no difference shown")
        for one in outcome.comparisons
    )
    (copy / "outcome.json").write_bytes(to_json(msgspec.structs.replace(outcome, comparisons=single)))
    view = view_study(copy)
    assert "too wide to say" in view.answer.says
    assert "1 interleaved pair)" in view.answer.says
    assert "too wide to say" in render_study(view)


def test_a_folder_that_is_no_study_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="not a study"):
        write_study_report(tmp_path)


def test_hostile_words_stay_words(tmp_path: Path) -> None:
    folder = make_study.make_study(tmp_path / "bad", hostile=HOSTILE, runs=False, pairs=2)
    page = write_study_report(folder).read_text()
    assert "<script>alert" not in page
    assert "<img" not in page
    assert page.count("</script>") == 3
    assert "onerror=alert(1)&gt;" in page, "the words are shown"
    assert "\x1b" not in study_text(view_study(folder))


def test_same_folder_same_bytes(study: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one.html", tmp_path / "two.html"
    assert write_study_report(study, one).read_bytes() == write_study_report(study, two).read_bytes()


def test_json_holds_the_whole_view(study: Path) -> None:
    decoded = json.loads(to_json(view_study(study)))
    assert decoded["answer"]["verdict"] == "faster"
    assert len(decoded["trials"]) == len((study / "trials.jsonl").read_text().splitlines())
