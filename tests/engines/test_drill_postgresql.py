"""Drills on a real PostgreSQL: they pass as they should, and what is broken is caught."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from s3_store import store
from sandbox_tools import temporary_home

from dbdyno.cli.common import SystemClock
from dbdyno.crash.drill import drill as drills
from dbdyno.engines.postgresql.backup import Backup, PgBackRest, PgBackRestS3
from dbdyno.engines.registry import engine_named
from dbdyno.model.drill import FAILOVER, RESTORE, DrillPlan, DrillResult
from dbdyno.model.errors import DynoError
from dbdyno.model.finding import Verdict
from dbdyno.model.home import Home
from dbdyno.run.driver import find_driver
from dbdyno.sandbox.options import SandboxOptions
from dbdyno.sandbox.sandbox import Sandbox, create

DYNO = [sys.executable, "-c", "from dbdyno.cli.main import main; main()"]
Drill = Callable[..., DrillResult]


@pytest.fixture(scope="module")
def home(clock: SystemClock) -> Iterator[Home]:
    with temporary_home(clock) as home:
        yield home


@pytest.fixture(scope="module")
def sandbox(home: Home, clock: SystemClock) -> Sandbox:
    try:
        find_driver()
    except Exception as error:
        pytest.skip(f"no load driver: {error}")
    return create(home, engine_named("postgresql"), "d", SandboxOptions(), clock=clock)


@pytest.fixture
def drill(sandbox: Sandbox, clock: SystemClock) -> Iterator[Drill]:
    def run(kind: str, **words: Any) -> DrillResult:
        plan = DrillPlan(kind=kind, load_s=0.2, archive_s_max=60.0, accounts=200, pages=8)
        fields = {name: getattr(plan, name) for name in DrillPlan.__struct_fields__}
        with sandbox.held():
            return drills.drill(sandbox, DrillPlan(**{**fields, **words}), clock)

    yield run
    assert nothing_stays(sandbox)


def nothing_stays(sandbox: Sandbox) -> bool:
    """No folder of a drill, no process that works in one."""
    where = str(sandbox.folder / "drill")
    for entry in filter(str.isdecimal, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{entry}/cwd").startswith(where):
                return False
        except OSError:
            continue
    return not Path(where).exists()


def failed(result: DrillResult) -> set[str]:
    return {check.name for check in result.checks if check.verdict is Verdict.FAIL}


def test_a_restore_to_a_moment(drill: Drill) -> None:
    result = drill(RESTORE)
    assert (result.verdict, result.promise) == (Verdict.PASS, "pitr")
    assert result.required is not None
    assert result.acknowledged is not None
    # There was something to find before the moment, and something to leave out after it.
    assert 50 < result.required < result.acknowledged
    assert result.backup_bytes is not None
    assert result.backup_bytes > 1e6
    assert None not in (result.backup_s, result.archive_bytes, result.restore_s, result.replay_s, result.window_ms)


def test_a_broken_archive_is_caught(drill: Drill) -> None:
    result = drill(RESTORE, control="no-archive", archive_s_max=2.0)
    assert result.verdict is Verdict.FAIL
    assert "archive_command failed" in result.says
    assert result.restore_s is None


def test_a_recovery_past_the_moment_is_caught(drill: Drill) -> None:
    result = drill(RESTORE, control="later")
    assert failed(result) == {"marker after", "sent after"}


def test_a_gap_in_the_archive_is_caught(drill: Drill, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Backup.ship

    def ship(self: Backup, server: Any, archive: Path, clock: Any, timeout_s: float) -> str:
        says = honest(self, server, archive, clock, timeout_s)
        # All that was archived: what the backup brings along does not reach the moment.
        for file in archive.iterdir():
            file.unlink()
        # Nor may what comes later be taken for it.
        archive.chmod(0o500)
        return says

    monkeypatch.setattr(Backup, "ship", ship)
    result = drill(RESTORE)
    assert failed(result) == {"recovery"}
    assert "recovery target" in result.says


def test_another_tool(home: Home, clock: SystemClock) -> None:
    """pgBackRest, where it and a server that it knows are installed."""
    tool = PgBackRest()
    try:
        sandbox = create(home, engine_named("postgresql"), "other", SandboxOptions(version="15"), clock=clock)
    except DynoError as error:
        pytest.skip(f"no server that the tool knows: {error}")
    if lacking := tool.lacks(sandbox.installation):
        pytest.skip(lacking)
    plan = DrillPlan(kind=RESTORE, tool=tool.tool, load_s=0.2, accounts=200, pages=8)
    with sandbox.held():
        result = drills.drill(sandbox, plan, clock)
    assert (result.verdict, result.tool) == (Verdict.PASS, "pgbackrest")
    assert result.backup_bytes is not None
    assert result.backup_bytes > 1e6
    assert nothing_stays(sandbox)


def test_a_store_that_speaks_s3(home: Home, clock: SystemClock, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = PgBackRestS3()
    for name in ("DYNO_S3_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    try:
        sandbox = create(home, engine_named("postgresql"), "s3", SandboxOptions(version="15"), clock=clock)
    except DynoError as error:
        pytest.skip(f"no server that the tool knows: {error}")
    assert "DYNO_S3_URL" in tool.lacks(sandbox.installation)
    # The servers' user must be able to read the certificate, which pytest's own folders do not let it.
    with store(home.root) as there:
        monkeypatch.setenv("DYNO_S3_URL", there.url.replace("https", "http"))
        monkeypatch.setenv("DYNO_S3_CA", str(there.authority))
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "some")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "thing")
        assert "without encryption" in tool.lacks(sandbox.installation)
        monkeypatch.setenv("DYNO_S3_URL", there.url)
        if lacking := tool.lacks(sandbox.installation):
            pytest.skip(lacking)
        plan = DrillPlan(kind=RESTORE, tool=tool.tool, load_s=0.2, accounts=200, pages=8)
        with sandbox.held():
            result = drills.drill(sandbox, plan, clock)
        assert (result.verdict, result.tool) == (Verdict.PASS, "pgbackrest-s3"), result.says
        assert "<Key>" not in there.objects()
    assert nothing_stays(sandbox)


def test_a_replica_that_is_waited_for_loses_nothing(drill: Drill) -> None:
    result = drill(FAILOVER, synchronous=True)
    assert (result.verdict, result.lost) == (Verdict.PASS, 0)
    assert result.required is not None
    assert result.required >= 50
    assert None not in (result.lag_max, result.promote_s)


def test_a_replica_that_was_cut_off_is_caught(drill: Drill) -> None:
    result = drill(FAILOVER, synchronous=True, control="cut-off")
    assert failed(result) == {"lost"}
    assert result.lost is not None
    assert result.lost >= 50
    # The same loss is no breach where it is allowed: it is a tail, and whole.
    assert all(damage.kind == "lost" for damage in result.damages)


def test_a_missing_tool_is_said(drill: Drill, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Backup, "tool", "pg_not_there")
    result = drill(RESTORE)
    assert result.verdict is Verdict.UNKNOWN
    assert "pg_not_there is not in" in result.says


def test_the_command_and_an_interruption(sandbox: Sandbox, home: Home) -> None:
    environment = {**os.environ, "DYNO_HOME": str(home.root), "NO_COLOR": "1"}
    command = [*DYNO, "drill", "failover", "sandbox:postgresql/d", "--time", "0.2", "--format", "json"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as one:
        assert one.stderr is not None
        for line in one.stderr:
            if "in step" in line:
                one.send_signal(signal.SIGINT)
                break
        one.stderr.read()
    assert one.returncode == 130
    assert nothing_stays(sandbox)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"] == "pass"
    assert "pass    lost" in done.stderr
