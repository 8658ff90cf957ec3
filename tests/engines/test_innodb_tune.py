"""Tuning servers of the MySQL family that are not sandboxes: nothing without leave, and everything put back."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno.cli.common import SystemClock
from dbdyno.engines.registry import engine_named
from dbdyno.model.home import Home
from dbdyno.sandbox.options import SandboxOptions
from dbdyno.sandbox.sandbox import Sandbox, create

pytestmark = [pytest.mark.engines, pytest.mark.timeout(600)]

LENGTHS = {"time": 2, "warmup-time": 0, "rate-time": 2, "validate-time": 3, "threads": 2, "scale": 1}
SHORT = [word for name, value in LENGTHS.items() for word in (f"--{name}", str(value))]
DYNO = [sys.executable, "-c", "from dbdyno.cli.main import main; main()"]
ONLINE = "innodb_io_capacity,innodb_lru_scan_depth,innodb_adaptive_flushing_lwm"
WITHOUT_BINLOG = ["--no-pitr", "--no-replication"]


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A home for studies, apart from that of the servers: they are somebody else's."""
    try:
        from dbdyno.run.driver import find_driver

        find_driver()
    except Exception as error:
        pytest.skip(f"no load driver: {error}")
    home = tmp_path / "home"
    yield {**os.environ, "HOME": str(tmp_path), "DYNO_HOME": str(home), "NO_COLOR": "1", "COLUMNS": "160"}
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(params=["mariadb", "mysql"])
def server(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    engine = engine_named(request.param)
    if not engine.recipe().installations():
        pytest.skip(f"no server of {request.param} is installed (tools/servers fetches some)")
    # A socket's path must be short, and pytest's folders are closed to the server's user.
    root = Path("/tmp") / f"dyno-{request.param}-{os.getpid()}"
    root.mkdir()
    root.chmod(0o755)
    box = create(Home(root), engine, "f", SandboxOptions(), clock=SystemClock())
    try:
        box.start()
        yield box
    finally:
        box.remove()
        shutil.rmtree(root)


def dyno(environment: dict[str, str], *words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*DYNO, *words], env=environment, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == status, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def whole_url(box: Sandbox) -> str:
    product = box.installation.scheme
    return f"{product}://dyno:{box.secret.reveal()}@/dyno?host={box.target.host}"


def all_of(box: Sandbox) -> dict[str, tuple[str, bool, bool]]:
    """Every variable of the server; what counts transactions goes on by itself."""
    session = box.engine.connect(box.target, box.secret)
    try:
        found = session.settings()
    finally:
        session.close()
    return {
        name: (one.value, one.persisted, one.pending_restart)
        for name, one in found.items()
        if not name.startswith("gtid_") and name != "timestamp"
    }


def test_nothing_is_touched_without_leave(environment: dict[str, str], server: Sandbox) -> None:
    url, before = whole_url(server), all_of(server)
    assert len(before) > 400
    contract = WITHOUT_BINLOG if server.installation.scheme == "mariadb" else []
    shown = dyno(environment, "tune", url, "tpcb", *contract, "--dry-run").stdout
    assert "nothing was changed" in shown
    assert "missing:  --allow load,tune" in shown
    assert "SET GLOBAL innodb_buffer_pool_size" in shown
    refused = dyno(environment, "tune", url, "tpcb", *contract, status=2)
    assert "--allow load" in refused.stderr
    if contract:
        broken = dyno(environment, "tune", url, "tpcb", "--allow", "load,tune", status=2)
        assert "log_bin = OFF" in broken.stderr
        assert "--no-pitr" in broken.stderr
    assert all_of(server) == before
    assert not (Path(environment["DYNO_HOME"]) / "studies").exists()
    secret = server.secret.reveal() or ""
    assert all(secret not in text for text in (shown, refused.stderr))


def run(box: Sandbox, *statements: str) -> None:
    session = box.engine.connect(box.target, box.secret)
    try:
        for statement in statements:
            session.run(statement, "set up")  # type: ignore[attr-defined]
    finally:
        session.close()


def test_a_server_that_may_not_be_written_gets_no_load(environment: dict[str, str], server: Sandbox) -> None:
    words = ["bench", whole_url(server), "tpcb", "--time", "1", "--allow", "load"]
    run(server, "SET GLOBAL read_only = 1")
    assert "read only" in dyno(environment, *words, status=2).stderr
    run(server, "SET GLOBAL read_only = 0")
    run(server, "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = 1, MASTER_USER = 'x'")
    assert "follows another server" in dyno(environment, *words, status=2).stderr
    # The control: it was that, and nothing else.
    run(server, "RESET SLAVE ALL")
    assert dyno(environment, *words, "--threads", "1", "--no-sample").stdout


def test_a_killed_study_can_be_undone(environment: dict[str, str], server: Sandbox, tmp_path: Path) -> None:
    before = all_of(server)
    file = tmp_path / "server.toml"
    file.write_text(
        f'url = "{server.installation.scheme}://dyno@/dyno?host={server.target.host}"\nallow = ["load", "tune"]\n'
        f'password_file = "{server.folder}/secret"\n'
    )
    words = ["tune", str(file), "tpcb", *WITHOUT_BINLOG, *SHORT, "--knobs", ONLINE, "--name", "s", "--time", "6"]
    process = subprocess.Popen([*DYNO, *words], env=environment, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 300
    changed_for = 0
    while changed_for < 5:
        assert process.poll() is None, "it ended by itself"
        assert time.monotonic() < deadline, "it changed nothing"
        # The default changes nothing; the formula, which comes next, does. What is set for a moment, so that the server
        # writes what it owes, does not count.
        time.sleep(0.2)
        changed_for = changed_for + 1 if all_of(server) != before else 0
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert all_of(server) != before
    out = dyno(environment, "tune", str(file), "--restore", "s").stdout
    assert "is as it was found" in out
    assert all_of(server) == before
