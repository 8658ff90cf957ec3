"""From a run folder to its explanation: the right cause, nothing where there is none, and any damage survived."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from made_run import STALL, write

from dbdyno.cli.explain import command
from dbdyno.explain.explain import Explanation, explain_run
from dbdyno.model.errors import RecordError
from dbdyno.model.finding import Severity
from dbdyno.report.explained import explanation_text, sparkline
from dbdyno.report.timeline import explained, explanation_page

FIXTURE = Path(__file__).parents[2] / "fixtures/runs/format-1"


def grave(explanation: Explanation) -> list[str]:
    return [one.finding.rule for one in explanation.findings if one.finding.severity != Severity.ADVICE]


@pytest.fixture(scope="module")
def stalled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("runs") / "stalled")


def test_the_cause_of_a_stall_is_named_first(stalled: Path) -> None:
    explanation = explain_run(stalled)
    [stall] = explanation.stalls
    assert (round(stall.start_s), round(stall.end_s)) == STALL
    assert stall.lost == pytest.approx(10_000, rel=0.02)
    assert grave(explanation)[0] == "checkpoint-forced-by-log"
    assert explanation.unexplained == ()
    assert [event.kind for event in explanation.events] == ["checkpoint"]
    fix = explanation.findings[0].finding.fixes[0]
    assert (fix.name, fix.before) == ("max_wal_size", "1024")
    assert int(fix.value) > 1024


def test_small_falls_of_the_distance_are_no_checkpoints(tmp_path: Path) -> None:
    """Where the oldest changed page is followed all the time, the distance falls a little at any moment."""
    folder = tmp_path / "run"
    write(folder)
    lines = [json.loads(line) for line in (folder / "samples.jsonl").read_text().splitlines()]
    for line in lines:
        if line["probe"] == "wal":
            line["rows"][0]["distance_bytes"] = 1_000_000 - 50_000 * (int(line["t_s"]) % 2)
    (folder / "samples.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert [event.kind for event in explain_run(folder).events] == []


def test_a_stall_of_no_known_cause_is_said_to_be_one(tmp_path: Path) -> None:
    folder = write(tmp_path / "run", forced=False)
    lines = (folder / "samples.jsonl").read_text().replace("WALSync", "Odd").splitlines()
    (folder / "samples.jsonl").write_text("\n".join(lines) + "\n")
    explanation = explain_run(folder)
    assert grave(explanation) == []
    assert explanation.unexplained == (0,)
    assert "No cause was found" in explanation_text(explanation)


def test_a_healthy_run_names_nothing(tmp_path: Path) -> None:
    explanation = explain_run(write(tmp_path / "run", forced=False, stall=False))
    assert explanation.stalls == ()
    assert grave(explanation) == []


def test_without_load_the_server_s_commits_are_the_throughput(tmp_path: Path) -> None:
    explanation = explain_run(write(tmp_path / "run", load=False))
    assert explanation.throughput_from == "server"
    assert [round(one.start_s) for one in explanation.stalls] == [60]
    assert grave(explanation)[0] == "checkpoint-forced-by-log"


def test_a_lull_is_no_stall(tmp_path: Path) -> None:
    """Fewer commits with nobody busy: less was asked for."""
    folder = write(tmp_path / "run", load=False, forced=False)
    text = (folder / "samples.jsonl").read_text()
    idle = text.replace('[{"kind":"IO","event":"WALSync","count":8}]', "[]")
    assert idle != text
    (folder / "samples.jsonl").write_text(idle)
    explanation = explain_run(folder)
    assert explanation.stalls == ()
    assert any("less was asked for" in note for note in explanation.notes)


@pytest.mark.parametrize("name", ["samples.jsonl", "events.jsonl", "facts.jsonl", "probes.json", "outcome.json"])
def test_a_file_that_is_missing_is_no_error(stalled: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "run"
    shutil.copytree(stalled, folder)
    (folder / name).unlink()
    explanation = explain_run(folder)
    explanation_text(explanation, everything=True)
    if name in ("samples.jsonl", "probes.json"):
        assert len(explanation.stalls) == 1
        assert grave(explanation) == []
        assert explanation.unknown


@pytest.mark.parametrize("name", ["samples.jsonl", "events.jsonl", "facts.jsonl", "probes.json", "outcome.json"])
def test_a_record_cut_at_any_byte_is_explained(tmp_path: Path, name: str) -> None:
    """Places all over the end of each file; a whole line is the next test."""
    folder = tmp_path / "run"
    shutil.copytree(FIXTURE, folder)
    whole = (folder / name).read_bytes()
    tail = whole[-4000:]
    cuts = range(0, len(tail), 401 if len(tail) > 1500 else 67)
    for cut in cuts:
        (folder / name).write_bytes(whole[: len(whole) - len(tail) + cut])
        explain_run(folder)


def test_every_other_byte_of_a_line_of_samples(tmp_path: Path) -> None:
    folder = write(tmp_path / "run", seconds=12, stall=False)
    whole = (folder / "samples.jsonl").read_bytes()
    begin = whole[:-1].rindex(b"\n") + 1
    for cut in range(begin, len(whole), 2):
        (folder / "samples.jsonl").write_bytes(whole[:cut])
        assert explain_run(folder).duration_s > 0


def test_clocks_that_go_backwards_and_counters_that_fall(stalled: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(stalled, folder)
    lines = (folder / "samples.jsonl").read_text().splitlines()
    turned = []
    for number, line in enumerate(lines):
        sample = json.loads(line)
        if number > 400:
            sample["t_s"] -= 30
        for row in sample["rows"]:
            if sample["probe"] == "database" and number > 300:
                row["commits"] -= 90_000
                row["server_started"] += 100
        turned.append(json.dumps(sample, separators=(",", ":")))
    (folder / "samples.jsonl").write_text("\n".join(turned) + "\n")
    explanation = explain_run(folder)
    assert "server-restarted" in grave(explanation)
    assert "restart" in {event.kind for event in explanation.events}


def test_nonsense_in_the_files_is_counted(stalled: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(stalled, folder)
    for name in ("samples.jsonl", "events.jsonl"):
        with (folder / name).open("ab") as file:
            file.write(b'\xff\xfe garbage\n{"t_s":1e999,"probe":"wal","rows":[{}]}\n{"event":"interval"}\n[]\n')
            file.write(b'{"t_s":NaN,"probe":"wal"}\n{"event":"interval","seconds":1,"t_s":"x"}\n')
    explanation = explain_run(folder)
    assert len(explanation.stalls) == 1
    assert any("could not be read" in note for note in explanation.notes)


def test_an_empty_run_and_none_at_all(tmp_path: Path) -> None:
    folder = write(tmp_path / "run", seconds=0)
    explanation = explain_run(folder)
    assert explanation.stalls == ()
    assert "no stall" in explanation_text(explanation) or "no known cause" in explanation_text(explanation)
    explanation_page(explanation)
    with pytest.raises(RecordError, match="not a run folder"):
        explain_run(tmp_path)


def test_the_page_has_the_stall_and_its_cause_and_escapes(stalled: Path) -> None:
    explanation = explain_run(stalled)
    view = explained(explanation)
    assert [band.label for band in view.bands] == ["1"]
    assert view.curve.startswith("M")
    page = explanation_page(explanation)
    assert "checkpoint-forced-by-log" in page
    assert "<script>alert" not in page


def test_a_sparkline_shows_the_stall_and_the_hole() -> None:
    assert sparkline([8, 8, 0, None, 8]) == "██▁ █"
    assert sparkline([]) == ""
    assert set(sparkline([0, 0])) == {"▁"}


@pytest.mark.parametrize("form", ["text", "json", "html"])
def test_the_verb_tells_by_its_exit_status(stalled: Path, tmp_path: Path, form: str) -> None:
    found = CliRunner().invoke(command, [str(stalled), "--format", form])
    assert found.exit_code == 1
    assert "checkpoint-forced-by-log" in found.output
    quiet = CliRunner().invoke(command, [str(stalled), "--quiet"])
    assert (quiet.exit_code, quiet.output) == (1, "")
    healthy = write(tmp_path / "healthy", forced=False, stall=False)
    assert CliRunner().invoke(command, [str(healthy), "-q"]).exit_code == 0
