"""Folders of what was fetched: gone afterwards, and what a killed program left is gone at the next start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from dbdyno.check.scratch import scratch_folder

HOLD = """
import sys
from dbdyno.check.scratch import scratch_folder
with scratch_folder("host") as folder:
    (folder / "proc").mkdir()
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_it_is_the_user_s_alone_and_gone_afterwards(above: Path) -> None:
    with scratch_folder("host") as folder:
        (folder / "etc").mkdir()
        assert folder.parent.parent == above
        assert not folder.parent.stat().st_mode & 0o077
    assert not list(above.iterdir())


def test_what_a_killed_program_left_goes_and_what_is_in_use_stays(above: Path) -> None:
    foreign = above / "dyno-host-notes"
    foreign.mkdir()
    (foreign / "mine").touch()
    with subprocess.Popen([sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        left = Path(other.stdout.readline().decode().strip())
        with scratch_folder("host") as own:
            assert left.exists(), "its program still runs"
            with scratch_folder("host"):
                assert own.exists(), "ours as well"
        os.kill(other.pid, signal.SIGKILL)
    assert (left / "proc").exists()
    with scratch_folder("dump"):
        assert left.exists(), "of another kind"
    with scratch_folder("host"):
        assert not left.parent.exists()
    assert [one.name for one in above.iterdir()] == ["dyno-host-notes"]
