"""Tuning real servers: a small study that is killed and resumed, and a server that is not a sandbox."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dbdyno.engines.registry import engine_named
from dbdyno.model.knob import Setting
from dbdyno.tune.drift import believed
from dbdyno.tune.store import open_study

pytestmark = [pytest.mark.engines, pytest.mark.timeout(900)]

LENGTHS = {"time": 2, "warmup-time": 0, "rate-time": 2, "validate-time": 3, "threads": 2, "scale": 1}
SHORT = [word for name, value in LENGTHS.items() for word in (f"--{name}", str(value))]
NO_PROOF = ["--crash-states", "0"]
DYNO = [sys.executable, "-c", "from dbdyno.cli.main import main; main()"]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    try:
        from dbdyno.run.driver import find_driver

        find_driver()
    except Exception as error:
        pytest.skip(f"no load driver: {error}")
    # A socket's path must be short.
    home = Path("/tmp") / f"dyno-tune-{os.getpid()}-{tmp_path.name[-12:]}"
    return {**os.environ, "DYNO_HOME": str(home), "NO_COLOR": "1", "COLUMNS": "160"}


@pytest.fixture(autouse=True)
def no_leftovers(environment: dict[str, str]) -> Iterator[None]:
    yield
    home = Path(environment["DYNO_HOME"])
    for folder in (home / "sandboxes").glob("*"):
        dyno(environment, "sandbox", "rm", folder.name, "--force", status=None)
    shutil.rmtree(home, ignore_errors=True)


def dyno(environment: dict[str, str], *words: str, status: int | None = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*DYNO, *words], env=environment, capture_output=True, text=True, timeout=600, check=False)
    if status is not None:
        assert done.returncode == status, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def test_a_study_survives_being_killed_and_is_resumed(environment: dict[str, str]) -> None:
    words = ["tune", "sandbox:postgresql?name=t", "tpcb", "--name", "s", "--trials", "4", "--pairs", "1"]
    folder = Path(environment["DYNO_HOME"]) / "studies" / "s"
    process = subprocess.Popen(
        [*DYNO, *words, *SHORT, *NO_PROOF, "--no-ablate"], env=environment, stdout=subprocess.DEVNULL
    )
    trials = folder / "trials.jsonl"
    deadline = time.monotonic() + 300
    while not (trials.exists() and trials.read_bytes().count(b"\n") >= 2):
        assert process.poll() is None, "it ended by itself"
        assert time.monotonic() < deadline
        time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = trials.read_bytes()
    record = open_study(folder)
    assert len(record.trials) >= 2

    out = dyno(environment, "tune", "--resume", "s").stdout
    assert f"resumed   after {len(record.trials)} trials" in out
    assert trials.read_bytes().startswith(before[: before.rfind(b"\n") + 1])
    assert "power loss unknown: not run: --crash-states is 0" in out
    assert "nobody calls this configuration safe" in out
    assert "settings pass, read back pass" in out

    assert (folder / "machine.json").exists()
    study = open_study(folder)
    assert [trial.number for trial in study.trials] == list(range(1, len(study.trials) + 1))
    assert study.outcome is not None
    assert study.outcome.status == "done"
    names = {trial.name for trial in study.trials}
    assert {"default", "formula", "pgtune"} <= names
    measured = [trial for trial in study.trials if trial.tps_charged]
    assert measured
    for trial in measured:
        assert trial.drain_s is not None
        assert (trial.tps_charged or 0) <= (trial.tps or 0)
        assert all((folder / run / "outcome.json").exists() for run in trial.runs)
        # The record of what may become the incumbent was explained, whatever was found.
        assert (trial.causes is not None) == believed(trial)
    # In so short a study anything may win, the default too; then there is nothing to apply.
    written = {path.name: path.read_text() for path in folder.glob("winner.*")}
    assert set(written) == ({"winner.conf", "winner.sql"} if study.outcome.winner else set())
    assert all("archive_mode" in text for text in written.values())
    # Nothing is left running.
    assert "running" not in dyno(environment, "sandbox", "list").stdout.replace("not running", "")
    assert "Nothing to do" in dyno(environment, "tune", "--restore", "s").stdout


def start_foreign(environment: dict[str, str], tmp_path: Path) -> tuple[str, Path]:
    """A server that dyno does not know as its own: a sandbox of another home, reached by its URL."""
    made = json.loads(
        dyno(environment, "sandbox", "create", "f", "--engine", "postgresql", "--start", "--format", "json").stdout
    )
    url = made["url"]
    restart = [*DYNO, "sandbox", "restart", "f"]
    file = tmp_path / "server.toml"
    command = " ".join(f"'{word}'" for word in restart)
    file.write_text(f'url = "{url}"\nallow = ["load", "tune"]\nrestart_command = """{command}"""\n')
    return url, file


def settings(url: str) -> dict[str, Setting]:
    engine = engine_named("postgresql")
    target, secret = engine.target(url, {})
    session = engine.connect(target, secret)
    try:
        return session.settings()
    finally:
        session.close()


def essence(found: dict[str, Setting]) -> dict[str, Any]:
    volatile = {"application_name", "data_directory_mode"}
    return {
        name: (one.value, one.persisted, one.pending_restart) for name, one in found.items() if name not in volatile
    }


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["tpcb", "--knobs", "fsync"], "held by the contract"),
        (["tpcb", "--knobs", "shared_bufers"], "There is no knob 'shared_bufers'"),
        (["tpcb", "--sampler", "magic"], "There is no sampler 'magic'"),
        (["tpcx"], "There is no workload 'tpcx'"),
        (["tpcb", "--scale", "0"], "--scale 0 is not possible"),
        (["tpcb", "--resume", "nothing"], "is not a study"),
    ],
)
def test_slips_are_found_before_anything_is_loaded(environment: dict[str, str], words: list[str], says: str) -> None:
    done = dyno(environment, "tune", "sandbox:postgresql?name=t", *words, status=2)
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert not (Path(environment["DYNO_HOME"]) / "studies").exists()


CONTRACT = ["--no-pitr"]
ONLINE = "checkpoint_timeout,random_page_cost,commit_delay"


def test_a_foreign_server_is_not_touched_without_leave(environment: dict[str, str], tmp_path: Path) -> None:
    url, _file = start_foreign(environment, tmp_path)
    before = essence(settings(url))
    shown = dyno(environment, "tune", url, "tpcb", *CONTRACT, "--dry-run").stdout
    assert "nothing was changed" in shown
    assert "missing:  --allow load,tune" in shown
    assert "ALTER SYSTEM SET shared_buffers" in shown
    refused = dyno(environment, "tune", url, "tpcb", *CONTRACT, status=2)
    assert "--allow load" in refused.stderr
    broken = dyno(environment, "tune", url, "tpcb", "--allow", "load,tune", status=2)
    assert "archive_mode = off" in broken.stderr
    assert "--no-pitr" in broken.stderr
    assert essence(settings(url)) == before
    assert not (Path(environment["DYNO_HOME"]) / "studies").exists()


def test_a_foreign_server_is_put_back(environment: dict[str, str], tmp_path: Path) -> None:
    url, _file = start_foreign(environment, tmp_path)
    before = essence(settings(url))
    words = ["tune", url, "tpcb", *CONTRACT, *SHORT, "--allow", "load,tune", "--knobs", ONLINE, "--name", "s"]
    out = dyno(environment, *words, "--trials", "4", "--pairs", "0", "--no-ablate").stdout
    assert "dataset is not put back" in out
    study = open_study(Path(environment["DYNO_HOME"]) / "studies" / "s")
    assert study.original()
    assert study.outcome is not None
    assert "NOT RESTORED" not in study.outcome.error
    assert essence(settings(url)) == before


def test_a_killed_study_on_a_foreign_server_can_be_undone(environment: dict[str, str], tmp_path: Path) -> None:
    url, _file = start_foreign(environment, tmp_path)
    before = essence(settings(url))
    words = ["tune", url, "tpcb", *CONTRACT, *SHORT, "--allow", "load,tune", "--knobs", ONLINE, "--name", "s"]
    process = subprocess.Popen([*DYNO, *words, "--time", "6"], env=environment, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 300
    while essence(settings(url)) == before:
        assert process.poll() is None, "it ended by itself"
        assert time.monotonic() < deadline, "it changed nothing"
        # The default changes nothing; the formula, which comes next, does.
        time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert essence(settings(url)) != before
    out = dyno(environment, "tune", "--restore", "s").stdout
    assert "is as it was found" in out
    assert essence(settings(url)) == before
