"""Where facts come from: servers that hang or flood, machines over SSH in each way of failing, dumps of every kind."""

from __future__ import annotations

import io
import os
import random
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dbdyno.check import server as server_module
from dbdyno.check.book import engine_module
from dbdyno.check.dump import read_dump
from dbdyno.check.host import LOCAL, find_host, limit_fact, read_host
from dbdyno.check.redact import HIDDEN, redacted, without_secrets
from dbdyno.check.remote import Fetch, parse_stream
from dbdyno.check.server import ServerRead, rates
from dbdyno.cli.common import SystemClock
from dbdyno.hosts.ssh import parse_ssh
from dbdyno.model.errors import HostError, TargetError, UsageError
from dbdyno.model.fact import Fact
from dbdyno.model.facts import Facts
from dbdyno.model.knob import Setting
from dbdyno.model.target import Secret, Target

TARGET = Target(engine="none", host="/run", port=1, user="u", database="d")
TOKEN = "T0123456789abcdef"


class Server:
    """A server as bad as a test wants it."""

    def __init__(self, **does: Any) -> None:
        self.name = "none"
        self.does = does
        self.closed = False

    def connect(self, target: Target, secret: Secret) -> Server:
        if error := self.does.get("refuses"):
            raise error
        return self

    def facts(self) -> Iterator[Fact]:
        yield from self.does.get("facts", [Fact(name="server.version", value=1)])
        if wait := self.does.get("hangs"):
            wait.wait(20)

    def settings(self) -> dict[str, Setting]:
        return {one.name: one for one in self.does.get("settings", [])}

    def close(self) -> None:
        self.closed = True


def read(server: Server, limit_s: float = 5.0) -> tuple[ServerRead, list[Any]]:
    reader = ServerRead(server, TARGET, Secret(None), clock=SystemClock(), seconds=0.0)  # type: ignore[arg-type]
    return reader, reader.wait(limit_s)


def test_a_server_that_hangs_gives_what_came_in_time() -> None:
    stop = threading.Event()
    reader, problems = read(Server(hangs=stop), 0.2)
    stop.set()
    assert [fact.name for fact in reader.facts] == ["server.version"]
    assert "did not answer all questions within 0.2 s" in problems[0].what
    assert not problems[0].fatal


def test_a_server_that_says_nothing_in_time_is_not_read() -> None:
    stop = threading.Event()
    _, problems = read(Server(hangs=stop, facts=[]), 0.2)
    stop.set()
    assert problems[0].fatal


def test_a_server_that_refuses_is_a_problem_with_its_words() -> None:
    _, problems = read(Server(refuses=TargetError("no", found="its words", todo="do")))
    assert (problems[0].what, problems[0].found, problems[0].todo) == ("no", "its words", "do")
    assert problems[0].fatal


def test_a_server_that_floods_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "FACTS_MAX", 100)
    server = Server(facts=[Fact(name=f"server.f{n}", value=n) for n in range(101)])
    reader, problems = read(server)
    assert len(reader.facts) == 100
    assert "says more than" in problems[0].what
    assert server.closed


def test_a_text_beyond_all_measure_is_unknown() -> None:
    reader, _ = read(Server(settings=[Setting(name="long", value="x" * 10_000_000)]))
    fact = next(fact for fact in reader.facts if fact.name == "setting.long")
    assert fact.value is None
    assert "longer than" in fact.unknown


def test_rates_and_a_counter_that_was_reset() -> None:
    found = {fact.name: fact for fact in rates({"a": 10.0, "b": 10.0}, {"a": 30.0, "b": 5.0}, 2.0)}
    assert found["rate.a_per_s"].value == 10.0
    assert "reset" in found["rate.b_per_s"].unknown


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("host=a password=geheim user=b", "host=a password=*** user=b"),
        ("host=a password='ge heim' user=b", "host=a password=*** user=b"),
        ("postgresql://u:geheim@host/db", "postgresql://u:***@host/db"),
        ("cmd --password=geheim --x", "cmd --password=*** --x"),
        ("AWS_SECRET_ACCESS_KEY=geheim wal-g push %p", "AWS_SECRET_ACCESS_KEY=*** wal-g push %p"),
        ("nothing to hide: 3", "nothing to hide: 3"),
    ],
)
def test_secrets_leave_texts(text: str, kept: str) -> None:
    assert without_secrets(text) == kept


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("setting.requirepass", "geheim", HIDDEN),
        ("setting.requirepass", "", ""),
        ("setting.password_encryption", "md5", "md5"),
        ("setting.default_password_lifetime", "90", "90"),
        ("setting.wsrep_sst_auth", "u:geheim", HIDDEN),
        ("setting.primary_conninfo", "user=r password=geheim", "user=r password=***"),
    ],
)
def test_secrets_leave_facts(name: str, value: str, shown: str) -> None:
    assert redacted(Fact(name=name, value=value)).value == shown


# --- machines over SSH ------------------------------------------------------------------------------------------------


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program called ssh in front of all others; tests write what it does."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder / "ssh"


def fake(ssh: Path, script: str) -> None:
    ssh.write_text("#!/bin/sh\n" + script)
    ssh.chmod(0o755)


def test_the_script_gives_the_facts_of_the_machine_itself(ssh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole way, but for the network: the same machine, read by the script and read at home."""
    few = ("proc/meminfo", "proc/cpuinfo", "proc/sys/kernel/osrelease", "proc/sys/vm/*", "sys/kernel/mm/*/enabled")
    monkeypatch.setattr("dbdyno.check.remote.PATTERNS", few)
    fake(ssh, 'echo "Welcome to this machine"; exec sh -s')
    clock = SystemClock()
    known = [Fact(name="server.pid", value=os.getpid())]
    there, problems = read_host(
        find_host("ssh://me@there", None), known, clock=clock, seconds=0, timeout_s=60, token=TOKEN
    )
    here, _ = read_host(find_host(LOCAL, None), known, clock=clock, seconds=0, timeout_s=60, token=TOKEN)
    assert not problems
    far, near = Facts(there), Facts(here)
    for name in ("host.memory_bytes", "host.cores", "host.kernel", "host.swappiness", "host.transparent_huge_pages"):
        assert far.value(name) == near.value(name)
    assert len(far) > 100


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo 'me@there: Permission denied (publickey).' >&2; exit 255", "refuses the user or the key"),
        ("echo 'ssh: Could not resolve hostname there: Name or service not known' >&2; exit 255", "name is not known"),
        ("echo 'ssh: connect to host there port 22: Connection refused' >&2; exit 255", "Nothing listens for SSH"),
        ("echo 'ssh: connect to host there port 22: Connection timed out' >&2; exit 255", "does not answer"),
        ("echo 'Host key verification failed.' >&2; exit 255", "key is not known yet"),
        ("echo 'WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!' >&2; exit 255", "not the one that is known"),
        ("echo 'kex_exchange_identification: Connection closed' >&2; exit 255", "closed the connection"),
        ("echo odd >&2; exit 255", "SSH to there failed"),
        ("echo 'This account is currently not available.'; exit 1", "did not run the script"),
        ("cat >/dev/null; exit 0", "did not run the script"),
        ("echo 'sh: not found' >&2; exit 127", "did not run the script"),
        ("head -c 300 >/dev/null; echo 'T0 begin'; exit 0", "did not run the script"),
    ],
)
def test_each_failure_of_ssh_is_said(ssh: Path, script: str, words: str) -> None:
    fake(ssh, script)
    with pytest.raises(HostError) as error:
        Fetch(token=TOKEN).over_ssh(parse_ssh("ssh://me@there"), 20.0)
    assert words in str(error.value)


def test_ssh_that_hangs_is_given_up(ssh: Path) -> None:
    fake(ssh, "exec sleep 60")
    with pytest.raises(HostError, match="did not answer within"):
        Fetch(token=TOKEN).over_ssh(parse_ssh("ssh://me@there"), 0.3)


def test_no_ssh_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match="no ssh"):
        Fetch(token=TOKEN).over_ssh(parse_ssh("ssh://me@there"), 1.0)


@pytest.mark.parametrize("url", ["ssh://", "ssh://-oProxyCommand=x", "ssh://a b", "ssh://u@-x", "ssh://h:99999999"])
def test_urls_that_are_none_are_refused(url: str) -> None:
    with pytest.raises(UsageError):
        parse_ssh(url)


def test_a_password_in_an_ssh_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError) as error:
        parse_ssh("ssh://me:geheim@there")
    assert "geheim" not in str(error.value)


def test_a_stream_cannot_leave_its_folder(tmp_path: Path) -> None:
    stream = (
        f"{TOKEN} begin 1\n{TOKEN} file ../../evil\nx\n{TOKEN} file proc/ok\nfine\n\n"
        f"{TOKEN} link sys/out /etc\n{TOKEN} file sys/out/passwd\nx\n{TOKEN} end\n"
    ).encode()
    parse_stream(stream, TOKEN).write_below(tmp_path / "tree" / "deep")
    assert (tmp_path / "tree/deep/proc/ok").read_text() == "fine\n"
    assert not (tmp_path / "evil").exists()
    assert not list(Path("/etc").glob("passwd.x"))
    assert (tmp_path / "tree/deep/sys/out/passwd").is_file()


def test_hosts_by_name() -> None:
    assert find_host("unknown", None).label == ""
    assert find_host(None, TARGET).label == LOCAL, "a socket is on this machine"
    away = Target(engine="none", host="db1.example", port=1, user="u", database="d")
    assert not find_host(None, away).examined, "another machine's server says nothing of this machine"
    for wrong in ("/nowhere/at/all", "db1"):
        with pytest.raises(UsageError):
            find_host(wrong, None)


def test_the_memory_limit_is_the_smallest() -> None:
    def limit(**values: object) -> Fact:
        return limit_fact(Facts(Fact(name=f"host.{name}", value=value) for name, value in values.items()))  # type: ignore[arg-type]

    assert limit(memory_bytes=100, cgroup_memory_bytes="no limit").value == 100
    assert limit(memory_bytes=100, cgroup_memory_bytes=40).value == 40
    assert limit(cgroup_memory_bytes=40).unknown


# --- dumps ------------------------------------------------------------------------------------------------------------

SETTINGS = (
    ("server_version", "15.3", ""), ("fsync", "off", ""), ("shared_buffers", "16384", "8kB"),
    ("work_mem", "4096", "kB"), ("archive_command", 'cp "%p", /x', ""),
)  # fmt: skip
CSV = "name,setting,unit,source\n" + "".join(
    f'{name},"{value.replace(chr(34), chr(34) * 2)}",{unit},default\n' for name, value, unit in SETTINGS
)
BOXED = (
    "      name       |  setting  | unit\n-----------------+-----------+------\n"
    + "".join(f" {name} | {value} | {unit}\n" for name, value, unit in SETTINGS)
    + "(5 rows)\n"
)


def dumped(path: Path) -> Facts:
    return Facts(read_dump(path, clock=SystemClock()).facts)


@pytest.mark.parametrize(
    "content",
    [
        CSV.encode(),
        CSV.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + CSV.encode(),
        CSV.encode("utf-16"),
        CSV.replace(",", ";").replace('"cp ""%p""; /x"', '"cp ""%p"", /x"').encode(),
        BOXED.encode(),
        BOXED.replace("\n", "\r\n").encode(),
        BOXED.replace("(5 rows)", "(5 Zeilen)").encode(),
        BOXED.replace("(5 rows)", "(5 行記録)").encode(),
        (CSV + 'cut_off,"abc').encode(),
        CSV.encode() + b"\nbad\xff\xfe,\x00x,,\n",
    ],
    ids=[
        "csv",
        "windows",
        "bom",
        "utf16",
        "semicolons",
        "table",
        "table-windows",
        "table-german",
        "table-japanese",
        "cut-off",
        "not-utf8",
    ],
)
def test_settings_in_many_writings(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "settings.txt").write_bytes(content)
    facts = dumped(tmp_path)
    assert facts.text("setting.fsync") == "off"
    assert facts.number("setting.shared_buffers") == 16384
    assert facts.text("setting.archive_command") == 'cp "%p", /x'
    assert facts.number("server.version") == 150003
    assert facts.value("server.settings_complete") is False


@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("15.3", 150003),
        ("15.3 (Debian 15.3-1.pgdg110+1)", 150003),
        ("18.4", 180004),
        ("17beta1", 170000),
        ("9.6.24", 90624),
        ("14.9 (Ubuntu 14.9-0ubuntu0.22.04.1)", 140009),
        ("PostgreSQL 16.4 on aarch64-unknown-linux-gnu, compiled by gcc, 64-bit", 160004),
    ],
)
def test_versions(tmp_path: Path, words: str, number: int) -> None:
    (tmp_path / "s.csv").write_text(f'name,setting\nserver_version,"{words}"\n')
    assert dumped(tmp_path).number("server.version") == number


def test_a_version_that_is_none_is_not_invented(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("name,setting\nserver_version,banana\nfsync,on\n")
    assert not dumped(tmp_path).has("server.version")


def test_configuration_files_and_units(tmp_path: Path) -> None:
    (tmp_path / "postgresql.conf").write_text("# x\nshared_buffers = 128MB # y\nfsync off\nwork_mem = '4MB'\n")
    facts = dumped(tmp_path)
    assert (facts.text("setting.shared_buffers"), facts.text("setting.work_mem")) == ("16384", "4096")
    assert facts.text("setting.fsync") == "off"


def test_what_nobody_knows_is_said_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(range(256)) * 8)
    (tmp_path / "s.csv").write_text(CSV)
    dump = read_dump(tmp_path, clock=SystemClock())
    assert dump.engine == "postgresql"
    assert any("a.bin" in problem.what for problem in dump.problems)


@pytest.mark.parametrize("content", [b"", b"hello", bytes(range(128, 228)), b"\x1f\x8b broken"])
def test_a_dump_of_nothing_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(UsageError, match="could be read"):
        read_dump(tmp_path / "x", clock=SystemClock())


def test_a_hundred_megabytes_of_settings_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbdyno.check.dump.FILE_BYTES_MAX", 1 << 20)
    with (tmp_path / "s.csv").open("w") as file:
        file.write(CSV)
        for number in range(60_000):
            file.write(f"custom.x{number},{'y' * 30},,default\n")
    dump = read_dump(tmp_path, clock=SystemClock())
    assert Facts(dump.facts).text("setting.fsync") == "off"
    assert any("larger than" in problem.what for problem in dump.problems)


def archive(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for member, content in members:
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def test_an_archive_cannot_leave_its_folder(tmp_path: Path) -> None:
    link = tarfile.TarInfo("out")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc"
    path = archive(
        tmp_path / "d.tar.gz", (tarfile.TarInfo("../../evil"), b"x"), (tarfile.TarInfo("/abs"), b"x"), (link, b""),
        (tarfile.TarInfo("s.csv"), CSV.encode()),
    )  # fmt: skip
    assert dumped(path).text("setting.fsync") == "off"
    assert not (tmp_path / "evil").exists()
    assert not Path("/abs").exists()


def test_an_archive_that_is_cut_off_gives_what_came_before(tmp_path: Path) -> None:
    filler = (tarfile.TarInfo("filler"), random.Random(1).randbytes(300_000))
    path = archive(tmp_path / "d.tar.gz", (tarfile.TarInfo("s.csv"), CSV.encode()), filler)
    path.write_bytes(path.read_bytes()[:100_000])
    dump = read_dump(path, clock=SystemClock())
    assert Facts(dump.facts).text("setting.fsync") == "off"
    assert any("only in part" in problem.what for problem in dump.problems)


def test_our_facts_survive_broken_lines(tmp_path: Path) -> None:
    (tmp_path / "facts.jsonl").write_text(
        '{"name":"dump.engine","value":"postgresql"}\n{"name":"setting.fsync","value":"off"}\n{"name":"sett'
    )
    dump = read_dump(tmp_path, clock=SystemClock())
    assert dump.engine == "postgresql"
    assert Facts(dump.facts).text("setting.fsync") == "off"
    assert any("could not be read" in problem.what for problem in dump.problems)


def test_a_parser_that_breaks_takes_no_other_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").write_text("boom")
    (tmp_path / "s.csv").write_text(CSV)
    broken = SimpleNamespace(recognises=lambda name, text: text == "boom", parse=lambda name, text: 1 / 0)
    readers = [("", broken), ("postgresql", engine_module("postgresql", "dump"))]
    monkeypatch.setattr("dbdyno.check.dump._readers", lambda: iter(readers))
    dump = read_dump(tmp_path, clock=SystemClock())
    assert Facts(dump.facts).text("setting.fsync") == "off"
    assert any("ZeroDivisionError" in problem.found for problem in dump.problems)
