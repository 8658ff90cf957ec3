"""Servers that follow another: no load is put on them, probes tell how far they are behind, and rules judge them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from sandbox_tools import ask, temporary_home
from wire_servers import drive

from dbdyno.check.audit import Options, audit
from dbdyno.check.host import HostAt
from dbdyno.cli.common import SystemClock
from dbdyno.engines._mysql.session import MySQLSession
from dbdyno.engines.registry import engine_named
from dbdyno.model.errors import DynoError
from dbdyno.model.fact import Scalar
from dbdyno.model.finding import Severity, Verdict
from dbdyno.run.driver import find_driver
from dbdyno.sandbox.options import SandboxOptions
from dbdyno.sandbox.sandbox import Sandbox, create

DYNO = [sys.executable, "-c", "from dbdyno.cli.main import main; main()"]
OF_REPLICAS = {"MY030", "MY031", "MY032", "MY033"}
SETTINGS: dict[str, dict[str, str | int]] = {
    "mariadb": {"log_bin": "ON"},
    "mysql": {"log_bin": "ON", "gtid_mode": "ON", "enforce_gtid_consistency": "ON"},
}
CHANNEL = "east"
FOLLOW = {
    "mariadb": (
        f"CHANGE MASTER '{CHANNEL}' TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {{port}}, MASTER_USER = 'follower', "
        "MASTER_PASSWORD = 'of-the-test', MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1",
        f"START SLAVE '{CHANNEL}'",
    ),
    "mysql": (
        "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}, MASTER_USER = 'follower', "
        f"MASTER_PASSWORD = 'of-the-test', MASTER_AUTO_POSITION = 1, GET_MASTER_PUBLIC_KEY = 1 FOR CHANNEL '{CHANNEL}'",
        f"START SLAVE FOR CHANNEL '{CHANNEL}'",
    ),
}
"""With a name: a server that is asked for its nameless connection says that it has none."""
STOP = {"mariadb": f"STOP SLAVE '{CHANNEL}' {{}}", "mysql": f"STOP SLAVE {{}} FOR CHANNEL '{CHANNEL}'"}
START = {name: word.replace("STOP", "START") for name, word in STOP.items()}
DELAY = {
    "mariadb": f"CHANGE MASTER '{CHANNEL}' TO MASTER_DELAY = 7200",
    "mysql": f"CHANGE MASTER TO MASTER_DELAY = 7200 FOR CHANNEL '{CHANNEL}'",
}


@dataclass
class Pair:
    scheme: str
    primary: Sandbox
    replica: Sandbox
    clock: SystemClock

    def run(self, *statements: str, on: Sandbox | None = None) -> None:
        session = (on or self.replica).engine.connect((on or self.replica).target, (on or self.replica).secret)
        assert isinstance(session, MySQLSession)
        try:
            for statement in statements:
                session.run(statement, "prepare a test")
        finally:
            session.close()

    def probe(self) -> dict[str, Scalar]:
        """The one row of the probe of replicas."""
        session = self.replica.engine.connect(self.replica.target, self.replica.secret)
        try:
            probe = next(one for one in self.replica.engine.probes(session.version) if one.name == "replica")
            (row,) = session.ask(probe)
        finally:
            session.close()
        return row

    def wait(self, lag_s_min: int, lag_s_max: int) -> dict[str, Scalar]:
        deadline = self.clock.monotonic() + 60
        while True:
            row = self.probe()
            lag = row["seconds_behind_master"]
            if isinstance(lag, int) and lag_s_min <= lag <= lag_s_max:
                return row
            assert self.clock.monotonic() < deadline, row
            self.clock.sleep(0.05)

    def told(self, box: Sandbox | None = None) -> dict[str, Severity]:
        options = Options(clock=self.clock, config=Path("/nonexistent"), token="T" + "0" * 32, timeout_s=60.0)
        one = box or self.replica
        checked = audit(one.target, one.secret, one.engine, HostAt(label=""), options)
        assert not {found.rule for found in checked.of(Verdict.UNKNOWN)} & OF_REPLICAS
        return {found.rule: found.severity for found in checked.of(Verdict.FAIL) if found.rule in OF_REPLICAS}


@pytest.fixture(scope="module", params=["mariadb", pytest.param("mysql", marks=pytest.mark.engines_full)])
def pair(request: pytest.FixtureRequest, clock: SystemClock) -> Iterator[Pair]:
    engine = engine_named(request.param)
    if not engine.recipe().installations():
        pytest.skip(f"no {request.param} is installed")
    with temporary_home(clock) as home:
        primary, replica = (create(home, engine, name, SandboxOptions(), clock=clock) for name in ("p", "r"))
        primary.start({**SETTINGS[request.param], "server_id": 11})
        replica.start({**SETTINGS[request.param], "server_id": 12, "read_only": "ON"})
        pair = Pair(request.param, primary, replica, clock)
        account = "CREATE USER 'follower'@'%' IDENTIFIED BY 'of-the-test'"
        pair.run(account, "GRANT REPLICATION SLAVE ON *.* TO 'follower'@'%'", on=primary)
        pair.run(*(one.format(port=primary.target.port) for one in FOLLOW[request.param]))
        pair.wait(0, 60)
        yield pair
        for box in (replica, primary):
            box.stop("immediate")


def refusal(url: str, home: Path, *words: str) -> str:
    environment = {**os.environ, "HOME": str(home), "DYNO_HOME": str(home / "dyno"), "NO_COLOR": "1"}
    done = subprocess.run([*DYNO, words[0], url, *words[1:]], env=environment, capture_output=True, text=True,
                          timeout=120, check=False)  # fmt: skip
    assert done.returncode == 2, done
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_replica_gets_no_load(pair: Pair, tmp_path: Path) -> None:
    """Its name is one of many connections, and it takes writes: nothing but its part forbids them."""
    try:
        find_driver()
    except DynoError as error:
        pytest.skip(f"no load driver: {error}")
    pair.run("SET GLOBAL read_only = OFF")
    target = pair.replica.target
    url = f"{pair.scheme}://dyno:{pair.replica.secret.reveal()}@/dyno?host={target.host}"
    bench = ("bench", "tpcb", "--threads", "1", "--time", "1", "--no-sample", "--allow", "load")
    assert "follows another server" in refusal(url, tmp_path, *bench)
    tune = ("tune", "tpcb", "--no-pitr", "--no-replication", "--contract", "L0", "--allow", "load,tune")
    assert "follows another server" in refusal(url, tmp_path, *tune)
    words = {"dialect": "mysql", "host": target.host, "user": "dyno", "password": pair.replica.secret.reveal(),
             "database": "dyno"}  # fmt: skip
    done = drive(words, "load", "tpcb")
    assert done.error["message"] == 'nothing is written here: the server is a replica of "127.0.0.1"'
    pair.run("SET GLOBAL read_only = ON")
    assert "read-only" in drive(words, "load", "tpcb").error["message"]
    # The control: the same on the one that is followed.
    words |= {"host": pair.primary.target.host, "password": pair.primary.secret.reveal()}
    assert drive(words, "load", "oltp_write_only", options={"tables": "1", "table_size": "50"}).status == 0


def test_the_probe_and_the_rules_tell_how_it_follows(pair: Pair) -> None:
    row = pair.wait(0, 60)
    assert CHANNEL in (row.get("connection_name"), row.get("channel_name"))
    assert (row["slave_io_running"], row["slave_sql_running"], row["last_sql_errno"]) == ("Yes", "Yes", 0)
    assert pair.told() == {}, "a healthy replica is told nothing"
    assert pair.told(pair.primary) == {}
    pair.run("SET GLOBAL read_only = OFF")
    assert set(pair.told()) == {"MY031"}
    pair.run("SET GLOBAL read_only = ON")
    for thread in ("IO_THREAD", "SQL_THREAD"):
        pair.run(STOP[pair.scheme].format(thread))
        assert pair.told() == {"MY030": Severity.CRITICAL}
        assert pair.probe()["seconds_behind_master"] is None, "how far it is behind is not known, and not nothing"
        pair.run(START[pair.scheme].format(thread))
    assert pair.told() == {}


def test_a_replica_that_is_behind(pair: Pair) -> None:
    """It waits with a change that its source dates an hour back."""
    pair.wait(0, 60)
    pair.run(STOP[pair.scheme].format(""), DELAY[pair.scheme], START[pair.scheme].format(""))
    pair.run("SET TIMESTAMP = UNIX_TIMESTAMP() - 3600", "CREATE TABLE dyno.late (a INT PRIMARY KEY)", on=pair.primary)
    pair.wait(3500, 4200)
    assert pair.told() == {"MY030": Severity.WARNING}


def test_a_hot_standby_gets_no_load(clock: SystemClock, tmp_path: Path) -> None:
    engine = engine_named("postgresql")
    if not engine.recipe().installations():
        pytest.skip("no postgresql is installed")
    with temporary_home(clock) as home:
        box = create(home, engine, "s", SandboxOptions(), clock=clock)
        box.start()
        url = f"postgresql://dyno:{box.secret.reveal()}@/dyno?host={box.target.host}&port={box.target.port}"
        bench = ("bench", "tpcb", "--threads", "1", "--time", "1", "--no-sample")
        assert "--allow load" in refusal(url, tmp_path, *bench)
        box.stop("fast")
        signal = box.data / "standby.signal"
        signal.touch()
        signal.chmod(0o644)
        box.start()
        assert ask(box, "SELECT pg_is_in_recovery()") == [(True,)]
        url = f"postgresql://dyno:{box.secret.reveal()}@/dyno?host={box.target.host}&port={box.target.port}"
        for words in (bench, ("tune", "tpcb", "--no-pitr", "--contract", "L0")):
            assert "follows another server" in refusal(url, tmp_path, *words, "--allow", "load,tune")
        box.stop("immediate")
