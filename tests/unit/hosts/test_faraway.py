"""Another machine is read as this one: here over a shell without SSH, with real files and all probes."""

from __future__ import annotations

import os
import shutil
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dbdyno.hosts.facts import read_facts
from dbdyno.hosts.faraway import Files, parse_auxv, parse_clock
from dbdyno.hosts.registry import HostProbe, Rows, Watch, host_probes
from dbdyno.hosts.shell import FILE, Ask, Shell
from dbdyno.hosts.ssh import SshHost, parse_ssh
from dbdyno.model.errors import HostError, UsageError

HOST = SshHost("", "far", "")
SHELLS = [name for name in ("dash", "bash", "busybox") if shutil.which(name)]


class RealClock:
    def monotonic(self) -> float:
        return time.monotonic()

    def unix(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def shell(*command: str, timeout_s: float = 20.0) -> Shell:
    return Shell(HOST, clock=RealClock(), token="Tk7", timeout_s=timeout_s, command=command)


@pytest.fixture(params=SHELLS)
def files(request: pytest.FixtureRequest) -> Iterator[Files]:
    words = ("busybox", "sh") if request.param == "busybox" else (request.param,)
    one = shell(*words)
    yield Files(one, 20.0)
    one.close()


def at(files: Files, path: Path) -> Path:
    return files.root / str(path).lstrip("/")


def test_files_come_as_they_are(files: Files, tmp_path: Path) -> None:
    for name, content in {
        "text": b"one\ntwo\n",
        "open end": b"no newline",
        "empty": b"",
        "zeros": b"a\0b\n\n\n",
        "it's": b"Tk8 0 /nonsense\n\nTk8 end 9\n",
    }.items():
        (tmp_path / name).write_bytes(content)
        assert at(files, tmp_path / name).read_bytes() == content
    assert at(files, tmp_path / "text").read_text() == "one\ntwo\n"
    with at(files, tmp_path / "zeros").open("rb") as file:
        assert file.read(3) == b"a\0b"


def test_files_of_many_processes_come_as_they_are(files: Files, tmp_path: Path) -> None:
    asks = [Ask(FILE, f"/proc/{pid}/stat") for pid in (os.getpid(), os.getppid(), 1, 2, 3, 999_999_999)]
    answers = files._shell.ask(asks, 20.0)
    assert answers[asks[0]].content.startswith(f"{os.getpid()} (".encode())
    assert answers[asks[0]].content.endswith(b"\n")
    assert answers[asks[-1]].error == 2


def test_what_is_missing_is_told_from_what_is_denied(files: Files, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileNotFoundError):
        at(files, tmp_path / "none").read_text()
    with pytest.raises(IsADirectoryError):
        at(files, tmp_path).read_text()
    with pytest.raises(NotADirectoryError):
        list(at(files, tmp_path / "file").iterdir())
    if os.geteuid() != 0:
        (tmp_path / "file").chmod(0)
        with pytest.raises(PermissionError):
            at(files, tmp_path / "file").read_text()


def test_folders_and_links(files: Files, tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to("a")
    assert sorted(one.name for one in at(files, tmp_path).iterdir()) == ["a", "b", "link"]
    assert list(at(files, tmp_path / "a").iterdir()) == []
    assert at(files, tmp_path / "a").is_dir()
    assert at(files, tmp_path / "a").exists()
    assert not at(files, tmp_path / "c").exists()
    assert at(files, tmp_path / "link").readlink().name == "a"
    with pytest.raises(PermissionError):
        at(files, tmp_path / "new").open("w")


def test_whatever_is_not_answered_there_does_not_read_this_machine(files: Files) -> None:
    assert not os.path.exists(files.root)
    with pytest.raises(OSError, match="No such file"):
        (files.root / "proc/stat").stat()


def _alike(files: Files, one: HostProbe, read_there: Callable[[], Rows]) -> bool:
    """Whether both readings have the same columns, or fail alike."""

    def outcome(read: Callable[[], Rows]) -> object:
        try:
            return [set(row) for row in read()[:1]]
        except (OSError, ValueError) as error:
            return type(error)

    here = outcome(lambda: one.read(Path("/"), Watch()))
    files.look({one.probe.name: read_there})
    with files.reading(one.probe.name):
        return here == outcome(read_there)


def test_every_probe_of_this_machine_reads_another_one(files: Files) -> None:
    """No probe is named here: what a probe reads is learned by letting it read."""
    readers = {one.probe.name: (lambda one=one: one.read(files.root, Watch())) for one in host_probes()}
    assert len(readers) > 10
    files.look(readers)
    for one in host_probes():
        # A process or a loop device of somebody else's may come or go between the two.
        assert any(_alike(files, one, readers[one.probe.name]) for _ in range(3)), one.probe.name
    before = files.exchanges
    quiet = {name: read for name, read in readers.items() if name in ("cpu", "memory", "disk", "vmstat")}
    files.look(quiet)
    for name, read in quiet.items():
        with files.reading(name):
            read()
    assert files.exchanges == before + 1


def test_facts_are_those_of_this_machine(files: Files) -> None:
    moving = {"host.uptime_s", "host.load_1min"}
    files.look({"facts": lambda: read_facts(files.root, folder=Path("/var"))})
    there = read_facts(files.root, folder=Path("/var"))
    here = read_facts(Path("/"), folder=Path("/var"))
    assert [one for one in there if one.name not in moving] == [one for one in here if one.name not in moving]


def test_a_greeting_is_passed_over() -> None:
    one = shell("sh", "-c", "echo Welcome; echo 12; printf 'no newline'; exec sh")
    assert one.ask([Ask(FILE, "/proc/self/comm")], 20.0)[Ask(FILE, "/proc/self/comm")].content == b"cat\n"
    one.close()


def test_a_connection_that_ends_or_hangs_says_so() -> None:
    with pytest.raises(HostError, match="did not answer"):
        shell("sleep", "60", timeout_s=0.1)
    with pytest.raises(HostError, match="Nothing listens for SSH there"):
        shell("sh", "-c", "echo 'ssh: connect to host far: Connection refused' >&2; exit 255")
    with pytest.raises(HostError, match="did not run the script"):
        shell("sh", "-c", "echo 'This account is nothing'; exit 1")
    one = shell("sh")
    one.interrupt()
    for _ in range(2):
        with pytest.raises(HostError, match="failed"):
            one.ask([Ask(FILE, "/proc/stat")], 20.0)
    one.close()


def test_too_long_an_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbdyno.hosts.shell.ANSWER_BYTES_MAX", 1 << 16)
    one = shell("sh")
    with pytest.raises(HostError, match="sent more than"):
        one.ask([Ask(FILE, "/dev/zero")], 20.0)
    one.close()


def test_units_of_a_machine() -> None:
    for form in ("<QQ", ">QQ", "<II", ">II"):
        pairs = ((33, 1), (6, 65536), (17, 250), (0, 0))
        assert parse_auxv(b"".join(struct.pack(form, *pair) for pair in pairs)) == (65536, 250)
    assert parse_auxv(b"") is None
    assert parse_auxv(b"nonsense" * 9) is None
    assert parse_auxv(Path("/proc/self/auxv").read_bytes()) == (os.sysconf("SC_PAGESIZE"), os.sysconf("SC_CLK_TCK"))


def test_the_clock_of_a_machine() -> None:
    assert parse_clock("cpu 1\nbtime 1000\n", "50.25 99\n") == 1050.75
    with pytest.raises(ValueError, match="btime"):
        parse_clock("cpu 1\n", "50 1")


def test_urls() -> None:
    assert parse_ssh("ssh://me@db1:2200") == SshHost("me", "db1", "2200")
    assert parse_ssh("ssh://me@db1:2200").label == "ssh://me@db1:2200"
    assert parse_ssh("ssh://db1").command(5)[-3:] == ["--", "db1", "exec sh"]
    for bad in ("ssh://", "ssh://a b", "ssh://-oProxyCommand=x", "ssh://db1:99999", "ssh://db1:0", "ssh://u@h/path"):
        with pytest.raises(UsageError):
            parse_ssh(bad)
