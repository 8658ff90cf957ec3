"""A wall clock that is set while it is recorded: `make engines`.

This machine's clock is everybody's. Instead the machine is sampled over SSH, and the connection is made again from a
namespace of time in which it was started half a minute earlier: its wall clock has moved against its own.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from explain_tools import CLOCK, grave, keep
from sandbox_tools import temporary_home
from ssh_tools import Keys, free_port, need_sshd, sshd

from dbdyno.engines.registry import engine_named
from dbdyno.explain.explain import explain_run
from dbdyno.sandbox.options import SandboxOptions
from dbdyno.sandbox.sandbox import create

pytestmark = [pytest.mark.engines_full, pytest.mark.timeout(300)]

LATER = ["unshare", "--time", "--boottime", "30", "--fork", "--kill-child"]
RECORD = [sys.executable, "-c", "from dbdyno.cli.main import main; main()", "record", "--time", "9"]


@pytest.mark.parametrize("step", [True, False], ids=["set", "left alone"])
def test_a_clock_that_is_set_meanwhile(step: bool, tmp_path: Path) -> None:
    need_sshd()
    if shutil.which("unshare") is None or subprocess.run([*LATER, "true"], check=False, capture_output=True).returncode:
        pytest.skip("no namespaces of time here (util-linux 2.36, Linux 5.6)")
    keys, port = Keys(tmp_path / "ssh"), free_port()
    keys.know(f"[127.0.0.1]:{port}")
    keys.write_config("")
    keys.as_ssh(tmp_path / "bin")
    run = tmp_path / "run"
    with temporary_home(CLOCK) as home, contextlib.ExitStack() as second:
        box = create(home, engine_named("postgresql"), "clock", SandboxOptions(), clock=CLOCK)
        environment = {**os.environ, "DYNO_HOME": str(box.folder.parent.parent)}
        environment["PATH"] = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
        with box.held():
            box.start()
            with sshd(keys, port=port) as first:
                words = [*RECORD, f"sandbox:postgresql/{box.name}", "--host", first.url(), "-o", str(run)]
                record = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                second.callback(record.kill)
                wait_until_seen(run)
            second.enter_context(sshd(keys, port=port, under=LATER if step else ()))
            assert record.wait(120) == 0, record.communicate()
    named = grave(explain_run(run))
    if step:
        assert named[:1] == ["clock-step"], named
        keep(
            "clock-step", "the machine is found again with its wall clock half a minute off (namespace of time)", named
        )
    else:
        assert "clock-step" not in named


def wait_until_seen(run: Path) -> None:
    until_s = CLOCK.monotonic() + 60
    while CLOCK.monotonic() < until_s:
        with contextlib.suppress(FileNotFoundError):
            if (run / "samples.jsonl").read_bytes().count(b'"boot_unix_s":') >= 2:
                return
        CLOCK.sleep(0.1)
    pytest.fail("the machine was not sampled")
