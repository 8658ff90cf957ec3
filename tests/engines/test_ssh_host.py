"""Machines that are read over SSH, with sshds of our own: every way that works, and every way in which it fails."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from explain_tools import need_driver
from sandbox_tools import temporary_home
from ssh_tools import Keys, Sshd, account, far_network, free_port, need_sshd, sshd

from dbdyno.cli.common import SystemClock
from dbdyno.cli.main import main
from dbdyno.engines.registry import engine_named
from dbdyno.hosts.ssh import parse_ssh
from dbdyno.model.errors import HostError
from dbdyno.model.probe import Sample
from dbdyno.model.run import Doubt
from dbdyno.run.record import RunRecord, open_run
from dbdyno.samples.faraway import LINK, Faraway, reach
from dbdyno.sandbox.options import SandboxOptions
from dbdyno.sandbox.sandbox import Sandbox, create

MACHINE = {"cpu", "memory", "disk", "vmstat", "pressure", "network", "boot"}
Run = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    need_sshd()
    return Keys(tmp_path_factory.mktemp("ssh"))


@pytest.fixture(scope="module")
def server(keys: Keys) -> Iterator[Sshd]:
    with sshd(keys) as one:
        yield one


@pytest.fixture(autouse=True)
def client(keys: Keys, server: Sshd, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Keys:
    """The user's own ssh, who knows the server and has a key for it."""
    keys.known_hosts.unlink(missing_ok=True)
    keys.know(f"[127.0.0.1]:{server.port}")
    keys.write_config("")
    keys.as_ssh(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return keys


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    clock = SystemClock()
    with temporary_home(clock) as home:
        made = create(home, engine_named("postgresql"), "ssh", SandboxOptions(), clock=clock)
        made.start()
        yield made
        made.stop()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """One that other users may enter."""
    with tempfile.TemporaryDirectory(prefix="dyno-ssh-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def dyno(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command on the sandbox; exit status and everything that was said."""
    monkeypatch.setenv("DYNO_HOME", str(sandbox.folder.parent.parent))

    def run(verb: str, *words: str) -> tuple[int, str]:
        said = io.StringIO()
        monkeypatch.setattr(sys, "argv", ["dyno", verb, f"sandbox:postgresql/{sandbox.name}", *words])
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), said.getvalue()

    return run


def seen(record: RunRecord, probe: str) -> list[Sample]:
    return list(record.samples().samples(probe))


def connect(url: str) -> Faraway:
    return reach(parse_ssh(url), SystemClock(), "token7")


def test_a_recording_samples_another_machine(server: Sshd, dyno: Run, tmp_path: Path) -> None:
    status, said = dyno("record", "--time", "3", "--host", server.url(), "-o", str(tmp_path / "run"))
    assert status == 0, said
    assert "machine over SSH: " in said
    record = open_run(tmp_path / "run")
    assert record.plan.target.machine == server.url()
    facts = {fact.name: fact for fact in record.facts("before")}
    assert facts["host.sampled"].value == server.url()
    assert facts["host.kernel"].value == os.uname().release
    # The same machine here, in truth: its clock is ours.
    assert abs(float(facts["host.clock_offset_s"].value)) <= 0.6
    for probe in MACHINE:
        assert [one for one in seen(record, probe) if one.rows], probe
    rows = [one.rows[0] for one in seen(record, LINK.name) if one.rows]
    assert len(rows) >= 2
    assert 0 < int(rows[0]["received_bytes"]) < int(rows[-1]["received_bytes"])
    assert record.outcome is not None
    assert not {note.doubt for note in record.outcome.doubts} & {Doubt.HOST_ELSEWHERE, Doubt.HOST_CLOCK}
    # Nothing stays behind there: the shell's input has ended.
    until = time.monotonic() + 10
    while len(server.family()) > 1 and time.monotonic() < until:
        time.sleep(0.05)
    assert server.family() == [server.process.pid]


def test_a_benchmark_samples_another_machine(server: Sshd, dyno: Run, tmp_path: Path) -> None:
    need_driver()
    words = ["oltp_read_write", "--tables=1", "--table_size=200", "--time", "3", "--threads", "2", "--rate", "20"]
    status, said = dyno("bench", *words, "--host", server.url(), "-o", str(tmp_path / "run"))
    assert status == 0, said
    record = open_run(tmp_path / "run")
    assert record.plan.target.machine == server.url()
    for probe in MACHINE:
        assert [one for one in seen(record, probe) if one.rows], probe
    assert [one for one in seen(record, "database") if one.rows]
    assert record.outcome is not None
    assert sum(one.count for one in record.outcome.phases) > 0
    assert not {note.doubt for note in record.outcome.doubts} & {Doubt.HOST_ELSEWHERE, Doubt.HOST_CLOCK}
    # A machine that cannot be reached is said before anything is loaded.
    words = ["tpcb", "--time", "3", "--cleanup", "-o", str(tmp_path / "none")]
    status, said = dyno("bench", *words, "--host", f"ssh://root@127.0.0.1:{free_port()}")
    assert status == 2
    assert said.count("Nothing listens for SSH there") == 1
    assert not (tmp_path / "none").exists()


def test_an_audit_reads_another_machine(server: Sshd, dyno: Run) -> None:
    status, said = dyno("check", "--host", server.url(), "--output", "json", "--timeout", "120")
    assert status in {0, 1}, said
    checked = json.loads(said)
    assert server.url() in said
    assert not [one for one in checked.get("problems", ()) if one["source"] == "host"]


def test_a_jump_host_of_the_users_configuration(keys: Keys, server: Sshd, dyno: Run, tmp_path: Path) -> None:
    """The second machine is in a network of its own, which the first reaches."""
    with far_network("dynot") as address, sshd(keys, key="host2", address=address, inside="dynot", port=2222) as far:
        keys.know(f"[{address}]:{far.port}", "host2")
        keys.write_config(
            f"Host behind\n  HostName {address}\n  Port {far.port}\n  User root\n  ProxyJump front\n"
            f"Host front\n  HostName 127.0.0.1\n  Port {server.port}\n  User root\n"
        )
        machine = connect("ssh://behind")
        routes = machine.read("routes", lambda root: (root / "proc/net/dev").read_text())
        machine.close()
        assert "dynotb:" in routes
        assert "dynota:" not in routes
        status, said = dyno("record", "--time", "2", "--host", "ssh://behind", "-o", str(tmp_path / "run"))
    assert status == 0, said
    record = open_run(tmp_path / "run")
    interfaces = {str(row["interface"]) for one in seen(record, "network") for row in one.rows}
    assert "dynotb" in interfaces


def wrong_key(keys: Keys, server: Sshd) -> str:
    keys.write_config(f"Host 127.0.0.1\n  IdentityFile {keys.folder}/other\nMatch all\n  IdentityFile none\n")
    text = keys.config.read_text()
    keys.config.write_text(text.replace(f"IdentityFile {keys.folder}/user\n", f"IdentityFile {keys.folder}/other\n"))
    return server.url()


def wrong_user(keys: Keys, server: Sshd) -> str:
    return server.url("nobody-of-that-name")


def changed_host_key(keys: Keys, server: Sshd) -> str:
    keys.known_hosts.unlink()
    keys.know(f"[127.0.0.1]:{server.port}", "other")
    return server.url()


def unknown_host_key(keys: Keys, server: Sshd) -> str:
    keys.known_hosts.unlink()
    return server.url()


def refused_port(keys: Keys, server: Sshd) -> str:
    return f"ssh://root@127.0.0.1:{free_port()}"


def unknown_name(keys: Keys, server: Sshd) -> str:
    return "ssh://root@no-such-machine.invalid"


FAILURES = {
    wrong_key: "SSH refuses the user or the key",
    wrong_user: "SSH refuses the user or the key",
    changed_host_key: "The host's key is not the one that is known",
    unknown_host_key: "The host's key is not known yet",
    refused_port: "Nothing listens for SSH there",
    unknown_name: "The host's name is not known",
}


@pytest.mark.parametrize("make", FAILURES, ids=lambda make: make.__name__)
def test_each_failure_is_told(make: Callable[[Keys, Sshd], str], keys: Keys, server: Sshd, dyno: Run) -> None:
    """A recording does not begin; an audit goes on without the machine, whose verdicts are unknown."""
    url = make(keys, server)
    with pytest.raises(HostError) as failed:
        connect(url)
    assert FAILURES[make] in str(failed.value)
    assert failed.value.todo
    status, said = dyno("check", "--host", url, "--only", "HOST*", "--output", "json")
    checked = json.loads(said)
    assert status == 2
    assert [one["what"] for one in checked["problems"]] == [failed.value.what]
    assert {one["verdict"] for one in checked["findings"]} == {"unknown"}
    assert len(checked["findings"]) > 20


def test_a_recording_that_cannot_begin(keys: Keys, server: Sshd, dyno: Run, tmp_path: Path) -> None:
    status, said = dyno("record", "--time", "1", "--host", refused_port(keys, server), "-o", str(tmp_path / "run"))
    assert status == 2
    assert said.count("Nothing listens for SSH there") == 1
    assert "Traceback" not in said
    assert not (tmp_path / "run").exists()


def test_a_machine_that_lets_nobody_in_in_time(keys: Keys, server: Sshd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbdyno.samples.faraway.CONNECT_S_MAX", 1.0)
    server.process.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(HostError, match=r"did not answer|does not answer"):
            connect(server.url())
    finally:
        server.process.send_signal(signal.SIGCONT)


def recorded(dyno: Run, folder: Path, url: str, time_s: float, upset: Callable[[RunRecord], None]) -> RunRecord:
    """A recording during which something happens to the connection, as soon as the machine was seen."""
    done: list[tuple[int, str]] = []

    def meddle() -> None:
        until = time.monotonic() + 20
        while time.monotonic() < until:
            with contextlib.suppress(Exception):
                if len([one for one in seen(open_run(folder), "memory") if one.rows]) >= 2:
                    break
            time.sleep(0.1)
        upset(open_run(folder))

    meddler = threading.Thread(target=meddle)
    meddler.start()
    try:
        done.append(dyno("record", "--time", str(time_s), "--host", url, "-o", str(folder)))
    finally:
        meddler.join()
    assert done[0][0] == 0, done
    return open_run(folder)


def test_a_connection_that_is_cut_is_made_again(server: Sshd, dyno: Run, tmp_path: Path) -> None:
    record = recorded(dyno, tmp_path / "run", server.url(), 8, lambda _: server.drop())
    memory = seen(record, "memory")
    lost = [one for one in memory if one.unknown]
    assert lost
    assert "127.0.0.1" in lost[0].unknown
    assert memory[-1].rows, "found again"
    assert [one.rows[0]["reconnects"] for one in seen(record, LINK.name) if one.rows][-1] >= 1
    assert not [one for one in seen(record, "database") if one.unknown], "the server's own samples go on"


def test_a_machine_that_hangs_holds_nothing_up(
    server: Sshd, dyno: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dbdyno.hosts.faraway.EXCHANGE_S_MAX", 1.0)
    stopped: list[float] = []

    def stop(_: RunRecord) -> None:
        for pid in server.family()[1:]:
            os.kill(pid, signal.SIGSTOP)
        stopped.append(time.monotonic())

    begun = time.monotonic()
    try:
        record = recorded(dyno, tmp_path / "run", server.url(), 8, stop)
    finally:
        server.signal(signal.SIGCONT)
    assert time.monotonic() - begun < 60
    assert any("did not answer" in one.unknown for one in seen(record, "memory")), seen(record, "memory")
    # The server's samples went on all the time, a second apart, whatever the machine did.
    times = [one.t_s for one in seen(record, "database") if one.rows]
    assert len(times) >= 5
    assert times[-1] >= 7


@pytest.mark.parametrize("login", ["greeting", "foreign_shell", "no_shell"])
def test_login_shells(login: str, keys: Keys, open_folder: Path) -> None:
    """One that prints, one that is no POSIX shell, and one that lets nobody do anything."""
    folder = open_folder
    shell = folder / "shell"
    shell.write_text(
        {
            # What a .bashrc or a site's wrapper prints.
            "greeting": "#!/bin/sh\necho 'Welcome to db1'; printf 'Last login: 7'; exec /bin/sh \"$@\"\n",
            # As fish: knows `exec`, and nothing else of ours.
            "foreign_shell": "#!/bin/sh\ncase $1:$2 in -c:exec\\ sh) exec sh;; *) echo no >&2; exit 8;; esac\n",
            "no_shell": "#!/bin/sh\necho 'This account is currently not available.'\nexit 1\n",
        }[login]
    )
    shell.chmod(0o755)
    banner = folder / "banner"
    banner.write_text("Authorised use only.\n")
    with account("dynotest", str(shell), folder / "home") as user, sshd(keys, extra=f"Banner {banner}") as server:
        keys.know(f"[127.0.0.1]:{server.port}")
        if login == "no_shell":
            with pytest.raises(HostError, match=r"did not run the script|has no shell"):
                connect(server.url(user))
            return
        machine = connect(server.url(user))
        try:
            assert "cpu " in machine.read("stat", lambda root: (root / "proc/stat").read_text())
            # A user who is not root: what is denied is told from what is not there.
            with pytest.raises(PermissionError):
                machine.read("io", lambda root: (root / "proc/1/io").read_text())
            with pytest.raises(PermissionError):
                machine.read("shadow", lambda root: (root / "etc/shadow").read_text())
            with pytest.raises(FileNotFoundError):
                machine.read("none", lambda root: (root / "proc/none").read_text())
        finally:
            machine.close()


def test_nothing_is_left_when_dyno_is_killed(server: Sshd, sandbox: Sandbox, tmp_path: Path) -> None:
    words = [sys.executable, "-c", "from dbdyno.cli.main import main; main()", "record", "--time", "60"]
    words += [f"sandbox:postgresql/{sandbox.name}", "--host", server.url(), "-o", str(tmp_path / "run")]
    environment = {**os.environ, "DYNO_HOME": str(sandbox.folder.parent.parent)}
    with subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        until = time.monotonic() + 120
        while len(server.family()) == 1 and time.monotonic() < until:
            time.sleep(0.05)
        assert len(server.family()) > 1
        process.kill()
    until = time.monotonic() + 15
    while len(server.family()) > 1 and time.monotonic() < until:
        time.sleep(0.05)
    assert server.family() == [server.process.pid]
