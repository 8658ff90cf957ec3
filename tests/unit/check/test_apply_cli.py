"""The command `dyno apply`: what it refuses, and that it shows before it does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dbdyno.check.fixes import Plan
from dbdyno.check.fixes_steps import Step
from dbdyno.cli.apply import command
from dbdyno.model.errors import DynoError, HostError, UsageError
from dbdyno.model.record import to_json

LINE = Step(kind="line", path="/etc/sysctl.d/90-dyno.conf", pattern="a=", line="a=1", for_="a")
LIVE = Step(kind="write", path="/proc/sys/vm/swappiness", value="1", for_="a")


def plan(folder: Path, **fields: object) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "fixes.json").write_bytes(to_json(Plan(target="t", steps=(LINE, LIVE), **fields)))  # type: ignore[arg-type]
    return folder


def run(*words: object) -> Result:
    return CliRunner().invoke(command, [str(word) for word in words])


def refusal(result: Result, kind: type[DynoError] = UsageError) -> DynoError:
    assert isinstance(result.exception, kind), result.output
    return result.exception


def test_it_shows_and_does_nothing_by_default(tmp_path: Path) -> None:
    folder = plan(tmp_path / "fixes", host="local")
    for words in ((folder,), (folder, "--dry-run"), (folder, "--root", tmp_path)):
        result = run(*words)
        assert result.exit_code == 0, result.exception
        assert "/etc/sysctl.d/90-dyno.conf: a=1" in result.output
        assert "Nothing was done" in result.output
    assert "only files are changed below another root" in result.output
    assert not (folder / "applied").exists()
    assert not (tmp_path / "etc").exists()


def test_below_a_root_it_does_and_undoes(tmp_path: Path) -> None:
    folder, root = plan(tmp_path / "fixes", host="ssh://db1"), tmp_path / "image"
    (root / "etc").mkdir(parents=True)
    done = run(folder, "--yes", "--root", root)
    assert done.exit_code == 0, done.exception
    assert "nothing could be verified" in done.output
    assert (root / "etc/sysctl.d/90-dyno.conf").read_text().endswith("a=1\n")
    assert "In force since" in run(folder, "--root", root).output
    assert run(folder, "--undo", "--root", root).exit_code == 0
    assert list((root / "etc").iterdir()) == []


def test_words_that_do_not_go_together(tmp_path: Path) -> None:
    folder = plan(tmp_path / "fixes")
    assert "does not go with" in str(refusal(run(folder, "--yes", "--undo")))
    assert "does not go with" in str(refusal(run(folder, "--yes", "--dry-run")))
    assert "Nothing of" in str(refusal(run(folder, "--undo", "--root", tmp_path)))
    assert "holds no fixes" in str(refusal(run(tmp_path)))
    assert run(tmp_path / "nowhere").exit_code == 2


def test_fixes_for_another_machine_are_refused_here(tmp_path: Path) -> None:
    folder = plan(tmp_path / "fixes", host="ssh://db1", boot_id="another")
    if os.geteuid() == 0:
        assert "not this machine" in str(refusal(run(folder, "--yes")))
    else:
        assert "for root" in str(refusal(run(folder, "--yes"), HostError))
    assert not (folder / "applied").exists()


def test_another_user_needs_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = plan(tmp_path / "fixes", host="local")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode, **more: mode != os.W_OK and real(path, mode, **more))
    assert "for root" in str(refusal(run(folder, "--yes"), HostError))


def test_settings_of_a_server_that_is_not_named_are_not_called_applied(tmp_path: Path) -> None:
    folder = tmp_path / "fixes"
    folder.mkdir()
    (folder / "fixes.json").write_bytes(to_json(Plan(target="t", host="local", settings={"work_mem": "8MB"})))
    assert "no server was named" in str(refusal(run(folder, "--yes")))
    assert not (folder / "applied").exists()
