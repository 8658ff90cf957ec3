"""The list of verbs: complete, described, and quick because nothing of them is imported."""

from __future__ import annotations

import subprocess
import sys

from click.testing import CliRunner

from dbdyno.cli.main import Verbs, dyno


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
