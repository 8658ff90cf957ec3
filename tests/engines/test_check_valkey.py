"""`dyno check` on a real redis-server, and on a valkey-server where there is one: a plain one hears only advice, what
is planted is found and nothing else new is, advice that was taken is not given again, and what was applied is taken
back byte by byte."""

from __future__ import annotations

import contextlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from dbdyno.check.audit import Options, audit, audit_dump
from dbdyno.check.collect import write_dump
from dbdyno.check.fixes import write as write_fixes
from dbdyno.check.host import HostAt
from dbdyno.check.result import Checked
from dbdyno.cli.common import SystemClock
from dbdyno.engines.registry import checkable_named
from dbdyno.engines.valkey.session import ValkeySession
from dbdyno.engines.valkey.session import connect as connect_
from dbdyno.model.errors import TargetError
from dbdyno.model.finding import Severity, Verdict
from dbdyno.model.knob import Level
from dbdyno.model.target import Secret, Target

SERVER = Path()
"""The program under test: see `product`."""
ENGINE = checkable_named("valkey")
NO_HOST = HostAt(label="")
OF_VERSION = {"redis-server": {"VK001", "VK002"}, "valkey-server": set()}
"""A series without support and its faults. What is known of a Valkey's version depends on which one it is, and is left
out."""
STOCK = {"VK010", "VK021", "VK061", "VK071"}
"""No limit of the memory, snapshots only, no latency monitor, no password."""
OF_THE_FILE = {"VK003", "VK005", "VK075"}
"""Rules about the configuration file, which is not seen without the machine."""
PLANTED: dict[str, dict[str, str]] = {
    "VK011": {"maxmemory": "900gb"},
    "VK019": {"client-output-buffer-limit": "replica 0 0 0"},
    "VK022": {"appendonly": "yes", "appendfsync": "no"},
    "VK023": {"no-appendfsync-on-rewrite": "yes"},
    "VK013": {"maxmemory-policy": "allkeys-lru"},
    "VK052": {"lazyfree-lazy-eviction": "no"},
    "VK024": {"stop-writes-on-bgsave-error": "no"},
    "VK029": {"rdbchecksum": "no"},
    "VK037": {"repl-timeout": "5"},
    "VK042": {"timeout": "0", "tcp-keepalive": "0"},
    "VK050": {"io-threads": "64"},
    "VK051": {"hz": "400"},
    "VK060": {"slowlog-log-slower-than": "-1"},
    "VK074": {"enable-debug-command": "yes"},
}
NOT_ANY_MORE = {"VK010", "VK021"}
"""What a plain server hears and this one does not: it has a limit, and an append-only file."""
NEEDS_MACHINE = {"VK050"}


@dataclass
class Server:
    """A private server with a socket; nothing of it listens on the network."""

    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def target(self) -> Target:
        return ENGINE.target(f"unix://{self.folder}/s", {})[0]

    @property
    def file(self) -> Path:
        return self.folder / "redis.conf"

    def session(self, password: str | None = None, user: str = "default") -> ValkeySession:
        target = ENGINE.target(f"unix://{self.folder}/s?username={user}", {})[0]
        return connect_(target, Secret(password))

    def run(self, *commands: str) -> None:
        session = self.session()
        try:
            for command in commands:
                session.command(*command.split())
        finally:
            session.close()

    def settings(self) -> dict[str, str]:
        session = self.session()
        try:
            return {name: one.value for name, one in session.settings().items()}
        finally:
            session.close()


@contextlib.contextmanager
def serving(clock: SystemClock, settings: Mapping[str, str] | None = None, *, text: str = "") -> Iterator[Server]:
    folder = Path(tempfile.mkdtemp(prefix="dyno-test-"))
    words = {"port": "0", "unixsocket": f"{folder}/s", "dir": str(folder), **(settings or {})}
    (folder / "redis.conf").write_text("".join(f"{name} {value}\n" for name, value in words.items()) + text)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([SERVER, folder / "redis.conf"], stdout=log, stderr=log)
    server = Server(folder, process)
    try:
        deadline = clock.monotonic() + 30
        while True:
            try:
                server.session().close()
                break
            except TargetError as error:
                if "password" in error.what:
                    break
                if process.poll() is not None or clock.monotonic() > deadline:
                    raise AssertionError((folder / "log").read_text()[-2000:]) from None
                clock.sleep(0.02)
        yield server
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder)


@pytest.fixture(scope="module", params=list(OF_VERSION), autouse=True)
def product(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each test runs on each product that is installed."""
    program = shutil.which(request.param)
    if program is None:
        pytest.skip(f"no {request.param} is installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules[__name__], "SERVER", Path(program))
        yield request.param


@pytest.fixture(scope="module")
def stock(product: str) -> set[str]:
    """What a plain server hears."""
    return STOCK | OF_VERSION[product]


@pytest.fixture(scope="module")
def plain(product: str, clock: SystemClock) -> Iterator[Server]:
    with serving(clock) as server:
        yield server


def look(
    target: Target, clock: SystemClock, password: str | None = None, host: HostAt = NO_HOST, **more: object
) -> Checked:
    options = Options(clock=clock, config=Path("/nonexistent"), token="T" + "0" * 32, **{"timeout_s": 60.0, **more})  # type: ignore[arg-type]
    return audit(target, Secret(password), ENGINE, host, options)


def found(checked: Checked) -> dict[str, Severity]:
    left_out = set() if SERVER.name == "redis-server" else {"VK001", "VK002"}
    fails = {one.rule: one.severity for one in checked.of(Verdict.FAIL) if one.rule.startswith("VK")}
    return {rule: how for rule, how in fails.items() if rule not in left_out}


def unseen(checked: Checked) -> dict[str, str]:
    return {one.rule: one.says for one in checked.of(Verdict.UNKNOWN) if one.rule.startswith("VK")}


def test_a_plain_server_hears_only_what_is_so(plain: Server, clock: SystemClock, stock: set[str]) -> None:
    checked = look(plain.target, clock)
    assert set(found(checked)) == stock
    assert {rule for rule, how in found(checked).items() if how is Severity.CRITICAL} == stock & {"VK002"}
    assert checked.level is Level.L0
    assert "pitr" in checked.lacking
    assert {one.source for one in checked.problems} == {"host"}, "only the machine was left out"
    assert set(unseen(checked)) == OF_THE_FILE


def test_with_its_machine_the_file_is_seen_and_the_host_rules_know_it(plain: Server, clock: SystemClock) -> None:
    checked = look(plain.target, clock, host=HostAt(label="local", root=Path("/")))
    assert not set(unseen(checked)) & OF_THE_FILE
    facts = {fact.name: fact.value for fact in checked.facts if not fact.unknown}
    assert facts["host.server.pid"] == plain.process.pid
    assert facts["server.forks_for_snapshot"] is True
    assert facts["server.files_needed"] == 10032
    memory = next(one for one in checked.findings if one.rule == "HOST007")
    assert "server.forks_for_snapshot" in memory.evidence or memory.verdict is Verdict.PASS


def test_the_product_is_known_by_its_own_name(plain: Server, clock: SystemClock) -> None:
    """A Valkey says of itself, for old clients, that it is a Redis."""
    facts = {fact.name: fact.value for fact in look(plain.target, clock).facts if not fact.unknown}
    words = subprocess.run([SERVER, "--version"], capture_output=True, text=True, timeout=20, check=True).stdout
    version = re.search(r"v=(\d+\.\d+)", words)
    assert version is not None
    assert facts["server.series"] == f"{SERVER.name.removesuffix('-server')} {version[1]}"
    assert facts["server.settings_complete"] is True


def test_what_is_planted_is_found_and_nothing_else(clock: SystemClock, stock: set[str]) -> None:
    words = {name: value for one in PLANTED.values() for name, value in one.items()}
    with serving(clock, words) as server:
        told = found(look(server.target, clock))
        assert set(told) == (stock - NOT_ANY_MORE) | (set(PLANTED) - NEEDS_MACHINE)
        with_machine = found(look(server.target, clock, host=HostAt(label="local", root=Path("/"))))
        # Valkey 8.0 takes 16 threads when it is asked for more: the file says another number than the server.
        fewer = {"VK005"} if server.settings()["io-threads"] != PLANTED["VK050"]["io-threads"] else set()
        assert set(with_machine) == set(told) | NEEDS_MACHINE | fewer


def test_an_account_without_a_password_is_found(plain: Server, clock: SystemClock) -> None:
    assert not {"VK070", "VK072", "VK073"} & set(found(look(plain.target, clock))), "it listens on no network"
    with serving(clock, text="user worker on nopass ~* +@all\n") as server:
        assert found(look(server.target, clock))["VK072"] is Severity.CRITICAL


def test_an_open_server_is_found(clock: SystemClock) -> None:
    """Its address is one of documentation, which no machine has: it is asked for, and nothing listens there."""
    with serving(clock, {"protected-mode": "no", "bind": "-192.0.2.1", "port": "6379"}) as server:
        told = found(look(server.target, clock))
        assert told["VK070"] is Severity.CRITICAL
        assert "VK073" in told
        server.run("CONFIG SET protected-mode yes")
        assert not {"VK070", "VK073"} & set(found(look(server.target, clock)))


def test_a_server_that_keeps_nothing(clock: SystemClock) -> None:
    with serving(clock, {"save": '""'}) as server:
        assert "VK020" not in found(look(server.target, clock)), "it holds nothing that could be lost"
        server.run("SET a b", "KEYS *")
        told = found(look(server.target, clock))
        assert {"VK020", "VK055"} <= set(told)
        assert "VK021" not in told


def test_a_primary_that_keeps_nothing_and_a_replica_that_is_written_to(clock: SystemClock, stock: set[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    with serving(clock, {"port": port, "bind": "127.0.0.1", "save": '""', "repl-diskless-sync-delay": "0"}) as primary:
        words = {"replicaof": f"127.0.0.1 {port}", "replica-read-only": "no"}
        with serving(clock, words) as replica:
            deadline = clock.monotonic() + 60
            while "VK033" in (told := found(look(replica.target, clock))):
                assert clock.monotonic() < deadline, "the replica never followed"
                clock.sleep(0.1)
            assert set(told) == stock | {"VK032"}
            assert set(found(look(primary.target, clock))) - {"VK034"} == (stock - {"VK021"}) | {"VK035"}
            primary.process.kill()
            primary.process.wait()
            deadline = clock.monotonic() + 60
            while "VK033" not in found(look(replica.target, clock)):
                assert clock.monotonic() < deadline, "a lost primary was not told"
                clock.sleep(0.1)


def test_a_file_that_says_something_else_is_found(clock: SystemClock) -> None:
    here = HostAt(label="local", root=Path("/"))
    with serving(clock, {"slave-read-only": "yes", "maxmemory": "100mb"}) as server:
        told = found(look(server.target, clock, host=here))
        assert "VK005" not in told
        assert "VK003" in told
        server.run("CONFIG SET maxmemory 1gb")
        checked = look(server.target, clock, host=here)
        assert next(one.says for one in checked.findings if one.rule == "VK005").endswith(": maxmemory.")
        server.run("CONFIG REWRITE")
        assert "VK005" not in found(look(server.target, clock, host=here))


def test_advice_is_taken_once_and_taken_back_byte_by_byte(clock: SystemClock) -> None:
    words = {name: value for one in PLANTED.values() for name, value in one.items()}
    with serving(clock, words) as server:
        before = server.settings()
        checked = look(server.target, clock)
        fixes = [fix for one in checked.of(Verdict.FAIL) for fix in one.fixes if fix.kind == "setting"]
        live = {fix.name: fix.value for fix in fixes if fix.needs == "nothing"}
        assert len(live) >= 9
        session = server.session()
        try:
            assert session.apply(dict(live)) == []
            after = look(server.target, clock)
            left = {fix.name for one in after.of(Verdict.FAIL) for fix in one.fixes if fix.kind == "setting"}
            assert left == {fix.name for fix in fixes} - set(live), "what only a restart changes is left to a person"
            assert set(found(after)) <= set(found(checked)), "taking one advice brought another"
            back = {name: before[name] for name in live}
            assert session.apply(dict(back)) == []
            assert server.settings() == before
            # By now the file names all of them, in the server's own form: from here on its lines stay the same. (The
            # server adds an empty line at the end now and then.)
            file = server.file.read_bytes().rstrip()
            session.apply(dict(live))
            assert server.file.read_bytes().rstrip() != file
            session.apply(dict(back))
        finally:
            session.close()
        assert server.settings() == before
        assert server.file.read_bytes().rstrip() == file


def test_the_file_of_fixes_is_one_that_the_server_reads(clock: SystemClock, tmp_path: Path) -> None:
    words = {name: value for one in PLANTED.values() for name, value in one.items()}
    with serving(clock, words) as server:
        plan = tmp_path / "plan"
        write_fixes(plan, look(server.target, clock))
        text = (plan / "server" / "dyno-valkey.conf").read_text()
    assert "# VK022: no before\nappendfsync everysec\n" in text
    with serving(clock, words, text=text) as server:
        assert not {"VK011", "VK022", "VK023", "VK042"} & set(found(look(server.target, clock)))


def test_a_setting_that_is_refused_leaves_all_as_it_was(plain: Server, clock: SystemClock) -> None:
    before = plain.settings()
    session = plain.session()
    try:
        with pytest.raises(TargetError, match="what was changed is as before"):
            session.apply({"maxmemory": "1073741824", "appendfsync": "never"})
        with pytest.raises(TargetError, match="does not have these settings"):
            session.apply({"maxmemory": "1073741824", "no-such-thing": 1})
    finally:
        session.close()
    assert plain.settings() == before


def test_a_contract_is_kept_only_by_what_keeps_it(clock: SystemClock) -> None:
    safe = {"appendonly": "yes", "appendfsync": "always", "aof-timestamp-enabled": "yes"}
    with serving(clock, safe) as server:
        checked = look(server.target, clock, judge_contract=True)
        assert checked.level is Level.L3
        assert [one.verdict for one in checked.findings if one.rule == "CONTRACT"] == [Verdict.PASS]
        server.run("CONFIG SET appendfsync everysec")
        checked = look(server.target, clock, judge_contract=True)
        assert checked.level is Level.L2
        assert {one.verdict for one in checked.findings if one.rule == "CONTRACT"} == {Verdict.FAIL}


@pytest.mark.parametrize("workload", ["oltp", "cache"])
def test_a_generated_configuration_starts_without_a_warning_and_is_well(clock: SystemClock, workload: str) -> None:
    size: dict[str, object] = {"memory_bytes": 8 << 30, "cores": 8, "connections": 100, "workload": workload}
    with serving(clock) as server:
        generated = look(server.target, clock, generate=True, sizes=size).generated
    assert generated is not None
    assert all(reason for reason in generated.reasons.values())
    with serving(clock, text=generated.text) as server:
        lines = (server.folder / "log").read_text().splitlines()
        # What the machine is told (its overcommit, its backlog of the network) is not the file's doing.
        known = ("overcommit", "backlog", "oO0", "Redis version=", "Server initialized", "Configuration loaded")
        own = [line for line in lines if " # " in line and not any(one in line for one in known)]
        assert own == []
        told = set(found(look(server.target, clock)))
        assert told <= {"VK001", "VK002", "VK071", "VK020"}, told


def test_a_password_is_asked_for_and_never_shown(clock: SystemClock) -> None:
    with serving(clock, {"requirepass": "hunter2-geheim"}) as server:
        for secret, words in ((None, "wants a password"), ("wrong", "refuses the password")):
            checked = look(server.target, clock, secret)
            assert words in checked.problems[0].what
            assert checked.problems[0].fatal
        checked = look(server.target, clock, "hunter2-geheim", host=HostAt(label="local", root=Path("/")))
        assert "VK071" not in found(checked)
        assert "VK075" not in found(checked), "its folder is closed to others"
        server.folder.chmod(0o755)
        open_ = look(server.target, clock, "hunter2-geheim", host=HostAt(label="local", root=Path("/")))
        assert found(open_)["VK075"] is Severity.CRITICAL
        assert "hunter2" not in repr(checked)
        target = server.folder / "dump.tar.gz"
        write_dump(target, checked, None)
        again = audit_dump(target, Options(clock=clock, config=Path("/nonexistent"), token="T" + "0" * 32))
        assert again.engine == "valkey"
        assert set(found(again)) == set(found(checked))
        assert "hunter2" not in repr(again)


def test_what_an_account_may_not_see_is_unknown(clock: SystemClock, product: str) -> None:
    rules = "user default off\nuser watcher on >secret-word -@all +ping +info\nuser root on >x ~* &* +@all\n"
    with serving(clock, text=rules) as server:
        target = ENGINE.target(f"unix://{server.folder}/s?username=watcher", {})[0]
        checked = look(target, clock, "secret-word")
        says = unseen(checked)
        assert {"VK070", "VK071", "VK074", "VK042"} <= set(says)
        assert "NOPERM" in says["VK042"]
        # What INFO says is judged all the same.
        assert "VK010" in found(checked)
        assert OF_VERSION[product] <= set(found(checked))
        assert checked.level is not Level.L3
        checked = look(target, clock, "secret-word", judge_contract=True)
        contract = {one.verdict for one in checked.findings if one.rule == "CONTRACT"}
        assert Verdict.PASS not in contract


def test_a_service_that_took_config_away(clock: SystemClock, product: str) -> None:
    with serving(clock, text='rename-command CONFIG ""\nrename-command ACL ""\n') as server:
        checked = look(server.target, clock)
        assert "unknown command" in unseen(checked)["VK042"]
        assert "unknown command" in unseen(checked)["VK071"]
        assert {"VK010"} | OF_VERSION[product] <= set(found(checked))


class Fake:
    """Something that listens and does what a test says to each line."""

    def __init__(self, folder: Path, answer: bytes | None) -> None:
        self.path = folder / "fake"
        self._answer = answer
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.path))
        self._listener.listen(8)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self._listener.accept()
                threading.Thread(target=self._talk, args=(peer,), daemon=True).start()

    def _talk(self, peer: socket.socket) -> None:
        with contextlib.suppress(OSError), peer:
            while peer.recv(65536):
                if self._answer is not None:
                    peer.sendall(self._answer)

    def close(self) -> None:
        self._listener.close()


@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x00\xff\xfe garbage\r\n", b"$-5\r\n", b"*100000000\r\n", b"+OK\r\n",
     b"-ERR \x1b[31m<script>alert(1)</script>\r\n", b"$999999999999\r\nx"],
)  # fmt: skip
def test_what_is_no_such_server_is_told(tmp_path: Path, clock: SystemClock, answer: bytes) -> None:
    fake = Fake(tmp_path, answer)
    try:
        checked = look(ENGINE.target(f"unix://{fake.path}", {})[0], clock, timeout_s=2.0)
    finally:
        fake.close()
    assert checked.problems[0].fatal
    assert not checked.of(Verdict.PASS)


def test_a_server_that_hangs_is_told(tmp_path: Path, clock: SystemClock) -> None:
    fake = Fake(tmp_path, None)
    try:
        began = clock.monotonic()
        checked = look(ENGINE.target(f"unix://{fake.path}", {})[0], clock, timeout_s=0.5)
        assert clock.monotonic() - began < 20
    finally:
        fake.close()
    assert "did not answer" in checked.problems[0].what
    assert checked.problems[0].fatal


def test_a_stopped_server_is_told(clock: SystemClock) -> None:
    with serving(clock) as server:
        target = server.target
    checked = look(target, clock)
    assert "cannot be reached" in checked.problems[0].what


def test_hostile_names_stay_words(clock: SystemClock) -> None:
    with serving(clock) as server:
        session = server.session()
        try:
            session.command("ACL", "SETUSER", "\x1b[31m<b>evil</b>", "on", "nopass", "+@all", "~*")
        finally:
            session.close()
        checked = look(server.target, clock)
    says = next(one.says for one in checked.findings if one.rule == "VK072")
    assert "evil" in says
