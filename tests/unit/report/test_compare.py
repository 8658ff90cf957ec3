"""`dyno compare` and `dyno report` as commands."""

from __future__ import annotations

import json
from pathlib import Path

import make_study
import pytest
from click.testing import CliRunner, Result

from dbdyno.cli.compare import command as compare
from dbdyno.cli.report import command as report
from dbdyno.model.errors import RecordError, UsageError


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four pairs: `a` slower than `b` by a fifth."""
    home = tmp_path_factory.mktemp("home")
    for index in range(4):
        for side, tps in (("a", 800.0), ("b", 1000.0)):
            folder = home / "runs" / side / f"{index}"
            make_study.make_run(folder, seed=index * 10 + ord(side), tps=tps, measure_s=20, warmup_s=0, rate_s=8)
    return home


def ask(runs: Path, *words: str) -> Result:
    return CliRunner().invoke(compare, list(words), env={"DYNO_HOME": str(runs)}, standalone_mode=False)


def status(result: Result) -> object:
    """The command's own value, which the entry point turns into the exit status."""
    assert result.exception is None, result.exception
    return result.return_value


def test_pairs_show_that_b_is_faster(runs: Path) -> None:
    result = ask(runs, "a", "b", "--pairs", "--fail-on-regression")
    assert status(result) == 0
    assert "verdict    B is faster" in result.output
    assert result.output.index("doubts") < result.output.index("ratio B/A")


def test_a_regression_is_exit_status_1_when_asked_for(runs: Path) -> None:
    assert status(ask(runs, "b", "a", "--pairs", "--fail-on-regression")) == 1
    assert status(ask(runs, "b", "a", "--pairs")) == 0


def test_a_run_against_itself_shows_no_difference(runs: Path) -> None:
    result = ask(runs, "a/0", "a/0", "--fail-on-regression")
    assert status(result) == 0
    assert "no difference shown" in result.output


def test_json_has_the_comparison(runs: Path) -> None:
    decoded = json.loads(ask(runs, "a/0,a/1,a/2,a/3", "b", "--pairs", "--format", "json").output)
    assert decoded["comparison"]["pairs"] == 4
    assert decoded["comparison"]["low"] > 1
    assert decoded["worse"] is False
    assert decoded["doubts"]


def test_latency_is_compared_at_the_fixed_rate_and_warns_when_rates_differ(runs: Path) -> None:
    result = ask(runs, "a", "b", "--pairs", "--figure", "p99")
    assert "at a fixed rate" in result.output
    assert "fixed rate differs" in result.output


def test_unlike_runs_are_refused_or_warned_of(runs: Path, tmp_path: Path) -> None:
    other = make_study.make_run(tmp_path / "other", measure_s=12, warmup_s=0, rate_s=0, threads=32)
    assert "connections differs: A 8; B 32" in ask(runs, "a/0", str(other)).output
    plan = json.loads((other / "plan.json").read_text())
    (other / "plan.json").write_text(json.dumps({**plan, "pipeline": True}))
    warned = ask(runs, "a/0", str(other)).output
    assert "sending of BEGIN and COMMIT differs: A one by one; B pipelined" in " ".join(warned.split())
    assert "sending of BEGIN" not in ask(runs, "a/0", "a/1").output
    plan["workload"]["scale"] = 99
    (other / "plan.json").write_text(json.dumps(plan))
    refused = ask(runs, "a/0", str(other))
    assert isinstance(refused.exception, UsageError)
    assert "scale 99" in str(refused.exception)
    assert "different workloads" in ask(runs, "a/0", str(other), "--anyway").output


def test_throughput_at_a_fixed_rate_is_not_taken_for_the_closed_loop(runs: Path, tmp_path: Path) -> None:
    other = make_study.make_run(tmp_path / "other", measure_s=12, warmup_s=0, rate_s=0)
    plan = json.loads((other / "plan.json").read_text())
    plan["phases"] = [{**phase, "mode": "open", "rate_per_s": 100.0} for phase in plan["phases"]]
    (other / "plan.json").write_text(json.dumps(plan))
    refused = ask(runs, "a/0", str(other))
    assert isinstance(refused.exception, UsageError)
    assert "a fixed rate of 100 per second; closed loop" in str(refused.exception)
    assert "at a fixed rate of 100 per second" in ask(runs, str(other), str(other), "--anyway").output
    only_closed = make_study.make_run(tmp_path / "closed", measure_s=12, warmup_s=0, rate_s=0)
    assert "loop differs" in ask(runs, str(only_closed), str(other), "--figure", "p99").output
    assert "loop differs" not in ask(runs, str(other), str(other), "--figure", "p99").output


@pytest.mark.parametrize(
    ("words", "kind", "says"),
    [
        (("a", "b"), UsageError, "in pairs only"),
        (("a/0,a/1", "b", "--pairs"), UsageError, "equally many"),
        (("nothing", "b"), RecordError, "no run 'nothing'"),
        ((",", "b"), RecordError, "No run was named"),
    ],
)
def test_bad_input_is_one_clear_message(runs: Path, words: tuple[str, ...], kind: type[Exception], says: str) -> None:
    result = ask(runs, *words)
    assert isinstance(result.exception, kind)
    assert says in str(result.exception)


def test_a_run_without_measured_load_cannot_be_compared(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_bytes((runs / "runs" / "a" / "0" / "plan.json").read_bytes())
    result = ask(runs, "a/0", str(tmp_path))
    assert isinstance(result.exception, UsageError)
    assert "no measured transactions" in str(result.exception)


@pytest.mark.parametrize("form", ["html", "text", "json"])
def test_report_writes_each_format(runs: Path, tmp_path: Path, form: str) -> None:
    out = tmp_path / f"r.{form}"
    result = CliRunner().invoke(report, ["a/0", "-o", str(out), "--format", form], env={"DYNO_HOME": str(runs)})
    assert result.exit_code == 0
    assert result.output.strip() == str(out)
    text = out.read_text()
    assert {"html": "<!doctype html>", "text": "doubts", "json": '"name"'}[form] in text


def test_report_says_what_it_looked_for(runs: Path) -> None:
    result = CliRunner().invoke(report, ["nowhere"], env={"DYNO_HOME": str(runs)}, standalone_mode=False)
    assert isinstance(result.exception, RecordError)
    assert "nowhere" in str(result.exception)
