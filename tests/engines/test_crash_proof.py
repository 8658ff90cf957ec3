"""The power-loss proof on a real server: the default passes, what is known to be unsafe is caught."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dbdyno.cli.common import SystemClock
from dbdyno.crash import disk as disks
from dbdyno.crash.store import CrashFolder
from dbdyno.engines.registry import engine_named
from dbdyno.model.contract import Contract
from dbdyno.model.crash import SUBJECT
from dbdyno.model.finding import Verdict
from dbdyno.model.home import Home
from dbdyno.model.knob import Assignment, Level
from dbdyno.model.target import Permission
from dbdyno.run.driver import find_driver
from dbdyno.sandbox.sandbox import Sandbox
from dbdyno.tune.proof import Prover

DYNO = [sys.executable, "-c", "from dbdyno.cli.main import main; main()"]
TARGET = "sandbox:postgresql?name=c"
SHORT = ("--stock", "--time", "2", "--threads", "4")


@pytest.fixture(autouse=True)
def possible() -> None:
    """Skips where the machine cannot carry a recorded disk."""
    try:
        find_driver()
    except Exception as error:
        pytest.skip(f"no load driver: {error}")
    if reason := disks.why_not("ext4"):
        pytest.skip(reason)


@pytest.fixture(autouse=True)
def nothing_stays(home: Home) -> Iterator[None]:
    yield
    _nothing_mounted(home)


def _nothing_mounted(home: Home) -> None:
    assert str(home.root) not in Path("/proc/self/mountinfo").read_text()
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        assert str(home.root) not in backing.read_text()


def environment(home: Home) -> dict[str, str]:
    return {**os.environ, "DYNO_HOME": str(home.root), "NO_COLOR": "1"}


def dyno(home: Home, *words: str, status: int = 0) -> str:
    done = subprocess.run(
        [*DYNO, *words], env=environment(home), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == status, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def test_the_default_passes_and_unsafe_ones_are_caught(home: Home) -> None:
    controls = ("--control", "fsync-off", "--control", "synchronous-commit-off", "--control-states", "6")
    out = dyno(home, "crash", TARGET, *SHORT, "--states", "24", "--name", "p", *controls)
    folder = CrashFolder(home.crashes / "p")
    outcome = folder.outcome()
    assert outcome is not None
    assert (outcome.verdict, outcome.level, outcome.status) == (Verdict.PASS, Level.L3, "done")
    subject, no_sync, late_sync = outcome.arms
    assert (subject.name, subject.states, subject.losing, subject.corrupt) == (SUBJECT, 24, 0, 0)
    assert subject.process_crash is Verdict.PASS
    assert subject.recovery_s_max is not None
    assert subject.acknowledged > 100
    # What it lost was acknowledged before the power went: the states have work to do.
    assert any(state.required > 50 for state in folder.states() if state.arm == SUBJECT)
    assert no_sync.caught
    assert no_sync.rate == 1.0
    assert late_sync.caught
    assert (late_sync.level, late_sync.corrupt) == (Level.L2, 0)
    assert late_sync.lost_oldest_ms is not None
    assert "no violation in 24 crash states" in out
    assert (folder.path / "report.html").is_file()
    # A bad state can be made again, and is bad again.
    again = dyno(home, "crash", "--replay", f"p/{no_sync.bad[0]}", status=1)
    assert "FAIL" in again
    assert "p  " in dyno(home, "list")
    assert "power-loss proof" in dyno(home, "report", "p", "--format", "text").lower()


def test_it_goes_on_after_being_killed(home: Home) -> None:
    command = [*DYNO, "crash", TARGET, *SHORT, "--states", "12", "--name", "k", "--format", "json"]
    for number, least in ((signal.SIGKILL, 2), (signal.SIGINT, 5)):
        with subprocess.Popen(
            command, env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            for line in process.stdout:
                if json.loads(line).get("kind") and least <= len(CrashFolder(home.crashes / "k").states()):
                    process.send_signal(number)
                    break
            process.stdout.read()
            said = process.stderr.read()
        assert process.returncode == (-number if number is signal.SIGKILL else 130)
        assert number is signal.SIGKILL or "go on with: dyno crash --resume k" in said
        command = [*DYNO, "crash", "--resume", "k", "--format", "json"]
    _nothing_mounted(home)
    outcome = CrashFolder(home.crashes / "k").outcome()
    assert outcome is not None
    assert (outcome.status, outcome.verdict) == ("interrupted", Verdict.UNKNOWN)
    before = [state.id for state in CrashFolder(home.crashes / "k").states()]
    dyno(home, "crash", "--resume", "k")
    states = CrashFolder(home.crashes / "k").states()
    assert [state.id for state in states][: len(before)] == before
    # Twelve, and the crash of the process alone.
    assert len(states) == 13


def test_a_sandbox_goes_with_what_a_killed_proof_left(home: Home) -> None:
    command = [*DYNO, "crash", "sandbox:postgresql?name=r", *SHORT, "--states", "5", "--name", "r"]
    with subprocess.Popen(command, env=environment(home), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert any("load for" in line for line in process.stderr)
        process.kill()
    left = Path("/proc/self/mountinfo").read_text()
    assert str(home.root) in left
    assert "Removed r" in dyno(home, "sandbox", "rm", "r")
    assert "r" not in {entry.name for entry in home.sandboxes.iterdir()}
    _nothing_mounted(home)


def test_a_disk_that_fails_takes_nothing_that_was_acknowledged(home: Home) -> None:
    dyno(home, "crash", TARGET, *SHORT, "--fault", "full_after=-1", status=2)
    fault = ("--fault", "full_after=3M")
    out = dyno(home, "crash", TARGET, *SHORT, "--states", "3", "--name", "f", "--drop", *fault)
    assert "made to fail: full_after=3145728" in out
    folder = CrashFolder(home.crashes / "f")
    # Whether the server gives up or goes on once there is room is its business.
    assert any("full_after=3145728" in note for note in folder.recordings()[SUBJECT].notes)
    assert any(state.required for state in folder.states())


def test_only_the_power_of_a_sandbox_is_cut(home: Home) -> None:
    url = "postgresql://somebody@127.0.0.1:1/x"
    for leave in ((), ("--allow", "crash")):
        assert "Only the power of a sandbox" in dyno(home, "crash", url, *leave, status=2)
    assert not home.crashes.exists()


def test_other_loads_bring_their_conditions_and_no_more(home: Home) -> None:
    out = dyno(home, "crash", TARGET, "tpcb", *SHORT, "--states", "2", "--drop", "--size", "3G", status=2)
    assert "a loss would not be seen" in out
    assert "no violation in 2 crash states" in out


def test_a_winner_is_proven_once(make: Callable[..., Sandbox], home: Home, clock: SystemClock) -> None:
    sandbox = make("w", version="15")
    space = sandbox.engine.knobs(sandbox.machine(), sandbox.installation.version)
    prover = Prover(sandbox, Contract(), home.crashes, clock, states=3, load_s=2.0)
    assert Permission.CRASH in sandbox.target.allow

    def prove(name: str, assignment: Assignment) -> tuple[object, str]:
        facts = prover.prove(name, assignment, space)
        return facts["power_loss"], str(facts.get("power_loss_proof", ""))

    with sandbox.held():
        first = prove("a", {"shared_buffers": "64MB"})
        assert first == (Verdict.PASS, str(home.crashes / "a"))
        # Another size of a cache changes nothing that durability hangs on.
        assert prove("b", {"shared_buffers": "32MB"}) == first
        verdict, proof = prove("c", {"synchronous_commit": "off"})
        assert verdict is not Verdict.PASS or Path(proof).name == "c"
    assert not (sandbox.folder / "crash" / "a").exists()


@pytest.mark.engines_full
def test_a_server_that_does_not_hear_of_a_failed_flush_is_caught(home: Home) -> None:
    if not any("MariaDB" in one.version_text for one in engine_named("mariadb").recipe().installations()):
        pytest.skip("no MariaDB is installed")
    words = ("--states", "3", "--controls", "--control-states", "6", "--fault", "eio_on_fsync=100", "--name", "u")
    dyno(home, "crash", "sandbox:mariadb?name=u", *SHORT, *words, "--drop")
    outcome = CrashFolder(home.crashes / "u").outcome()
    assert outcome is not None
    subject, unheard = outcome.arms
    assert (subject.level, unheard.name, unheard.caught) == (Level.L3, "unheard", True)
