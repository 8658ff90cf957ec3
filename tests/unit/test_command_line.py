"""The list of verbs: complete, described, and quick because nothing of them is imported."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner

from dbdyno.cli import _experiment
from dbdyno.cli.common import record_lines
from dbdyno.cli.main import Verbs, dyno
from dbdyno.engines.registry import checkable_named
from dbdyno.model.errors import UsageError


def test_every_verb_is_listed_with_a_description_and_can_be_loaded() -> None:
    assert isinstance(dyno, Verbs)
    text = CliRunner().invoke(dyno, ["--help"]).output
    with dyno.make_context("dyno", [], resilient_parsing=True) as context:
        for name in dyno.list_commands(context):
            line = next(line for line in text.splitlines() if line.split()[:1] == [name])
            assert len(line.split()) > 2, f"{name} has no short_help"
            command = dyno.get_command(context, name)
            assert command is not None
            assert command.get_short_help_str(200).rstrip(".") in " ".join(text.split())


def test_help_imports_no_verb() -> None:
    words = "import sys; from dbdyno.cli.main import dyno; dyno(['--help'], standalone_mode=False); "
    words += "print([name for name in ('numpy', 'optuna', 'dbdyno.cli.tune') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("benhc", "Did you mean 'bench'?"),
        ("lst", "Did you mean 'list'?"),
        ("xyzzy", "The commands are: apply, bench,"),
    ],
)
def test_a_word_that_is_no_verb_is_answered_with_the_nearest_one(typed: str, hint: str) -> None:
    for words in ([typed], ["help", typed]):
        result = CliRunner().invoke(dyno, words)
        assert result.exit_code == click.UsageError.exit_code
        assert f"No such command '{typed}'. {hint}" in result.output


@pytest.mark.parametrize("path", [[], ["list"], ["sandbox", "create"]])
def test_help_is_a_word_too(path: list[str]) -> None:
    asked = CliRunner().invoke(dyno, ["help", *path])
    assert asked.exit_code == 0
    assert asked.output == CliRunner().invoke(dyno, [*path, "--help"]).output


def test_what_can_be_asked_of_a_record_uses_its_short_name_where_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNO_HOME", str(tmp_path))
    assert record_lines(tmp_path / "runs" / "a", "explain", "report").endswith("next: dyno explain a · dyno report a")
    assert record_lines(tmp_path / "my run", "show").endswith(f"next: dyno show '{tmp_path / 'my run'}'")


def test_a_reader_that_goes_away_is_no_judgement() -> None:
    words = f"{sys.executable} -c 'from dbdyno.cli.main import main; main()' --help"
    script = f"set -o pipefail; (sleep 0.2; {words}; echo $? >&2) | true"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "141"


@pytest.mark.parametrize(
    ("typed", "offered"), [("dyno be", "bench"), ("dyno help la", "ladder"), ("dyno sweep --kn", "--knob")]
)
def test_the_shell_completes_verbs_and_options(typed: str, offered: str) -> None:
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1), "_DYNO_COMPLETE": "bash_complete"}
    assert CliRunner().invoke(dyno, [], prog_name="dyno", env=words).output == f"plain,{offered}\n"


def test_an_interrupted_experiment_says_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_experiment, "SandboxGrounds", lambda *_, **__: contextlib.nullcontext())
    monkeypatch.setattr(_experiment, "Experiment", lambda *_: SimpleNamespace())
    some: Any = SimpleNamespace(sandbox=object(), name="evening")
    with pytest.raises(KeyboardInterrupt), _experiment.started(some, some, some, None, (), keep=False):
        raise KeyboardInterrupt
    assert "--name evening --resume" in capsys.readouterr().err


@pytest.mark.parametrize(("typed", "meant"), [("postgresl", "postgresql"), ("mariadbb", "mariadb"), ("reids", "redis")])
def test_an_unknown_kind_of_server_is_answered_with_the_nearest_one(typed: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f"did you mean {meant}\\?"):
        checkable_named(typed)
