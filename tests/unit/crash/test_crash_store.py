"""The folder of a proof: append-only, readable at any moment."""

from __future__ import annotations

from pathlib import Path

import pytest
from proofs import SUBJECT_ARM, losing, plan, state

from dbdyno.crash.pressure import Pressure
from dbdyno.crash.store import CrashFolder, Recording
from dbdyno.crash.verdict import arm_outcome, outcome
from dbdyno.model.crash import CrashPlan
from dbdyno.model.errors import RecordError
from dbdyno.model.finding import Verdict
from dbdyno.report.crash import outcome_lines, proof_text, render_proof, state_lines, view_proof


@pytest.fixture
def folder(tmp_path: Path) -> CrashFolder:
    found = CrashFolder(tmp_path / "crashes" / "proof")
    found.create(plan())
    return found


def test_what_is_written_is_read(folder: CrashFolder) -> None:
    folder.add_recording(Recording(arm="subject", acknowledged=9, sent=10))
    folder.add_state(state(1))
    folder.add_state(losing(2))
    assert folder.plan() == plan()
    assert folder.recordings()["subject"].acknowledged == 9
    assert [one.id for one in folder.states()] == ["subject-1", "subject-2"]
    assert folder.outcome() is None


def test_a_line_that_a_kill_cut_is_dropped(folder: CrashFolder) -> None:
    folder.add_state(state(1))
    with (folder.path / "states.jsonl").open("ab") as stream:
        stream.write(b'{"id":"subj')
    assert [one.id for one in folder.states()] == ["subject-1"]
    folder.add_state(state(2))
    assert [one.id for one in folder.states()] == ["subject-1", "subject-2"]


def test_a_damaged_line_elsewhere_is_an_error(folder: CrashFolder) -> None:
    (folder.path / "states.jsonl").write_bytes(b"nonsense\n{}\n")
    with pytest.raises(RecordError, match="line 1"):
        folder.states()


def test_a_name_is_taken_once(folder: CrashFolder) -> None:
    with pytest.raises(RecordError, match="proof already"):
        folder.create(plan())


def test_another_folder_is_no_proof(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="not a power-loss proof"):
        CrashFolder(tmp_path).plan()


def _written(folder: CrashFolder, asked: CrashPlan) -> str:
    results = [state(1), losing(2), state(3, unknown="<b>no disk</b>")]
    for one in results:
        folder.add_state(one)
    folder.add_recording(Recording(arm="subject", notes=("checks cannot be had",)))
    folder.write_outcome(outcome(asked, [arm_outcome(asked, SUBJECT_ARM, results)], status="done"))
    return folder.name


def test_the_report_says_what_was_found_and_how_to_see_it_again(folder: CrashFolder) -> None:
    name = _written(folder, plan())
    view = view_proof(folder.path)
    assert view.verdict is Verdict.FAIL
    page, text = render_proof(view), proof_text(view)
    for words in (page, text):
        assert f"dyno crash --replay {name}/subject-2" in words
        assert "checks cannot be had" in words
    assert "<b>no disk" not in page
    found = folder.outcome()
    assert found is not None
    assert any("FAIL" in line for line in outcome_lines(plan(), found))
    assert any("lost: 3" in line for line in state_lines(losing(2)))


def test_a_proof_that_was_cut_off_can_be_read(folder: CrashFolder) -> None:
    view = view_proof(folder.path)
    assert (view.verdict, view.status) == (Verdict.UNKNOWN, "interrupted")
    assert "unknown" in proof_text(view)


def test_pressure_pushes_only_what_changed(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"file{number}").write_bytes(b"x")
    pressure = Pressure(tmp_path, seed=1)
    pressure.begin()
    assert pressure.push() == 0
    (tmp_path / "new").write_bytes(b"y")
    assert sum(pressure.push() for _ in range(30)) == 1
