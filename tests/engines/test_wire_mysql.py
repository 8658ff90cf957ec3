"""The driver's second wire protocol on real servers of both vendors: every workload loads, runs and holds its
conditions, sysbench and we run on one another's tables, and what goes wrong is said in one clear message."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from wire_servers import (
    PASSWORD,
    ROCKSDB,
    Authority,
    Done,
    Proxy,
    Server,
    authority,
    done,
    drive,
    mariadb,
    mysql,
    wait_for,
)

from dbdyno.model.errors import HostError
from dbdyno.run.driver import find_driver

SMALL = {"tables": "2", "table_size": "2000"}
DIFFERENT = {"3.3.2.2", "3.3.2.3", "3.3.2.7", "3.3.2.10"}
"""One clause for each form that the SQL of a condition has."""
CORRUPTIONS = [
    one
    for one in tomllib.loads((Path(__file__).parent / "tpcc_corruptions.toml").read_text())["corruption"]
    if one["clause"] in DIFFERENT
]
CLAUSES = {f"3.3.2.{number}" for number in range(1, 13)}


@pytest.fixture(scope="module", autouse=True)
def _driver() -> None:
    try:
        find_driver()
    except HostError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return authority(tmp_path_factory.mktemp("pki") / "own")


@pytest.fixture(scope="module")
def maria(pki: Authority) -> Iterator[Server]:
    """MariaDB with a certificate, and with its second storage engine where that is installed."""
    plugin = Path("/usr/lib/mysql/plugin/ha_rocksdb.so")
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(_readable_copy(pki))
        options = [f"--ssl-cert={folder}/server.pem", f"--ssl-key={folder}/server.key", f"--ssl-ca={folder}/ca.pem"]
        yield stack.enter_context(mariadb(*options, *(ROCKSDB if plugin.is_file() else [])))


@contextlib.contextmanager
def _readable_copy(pki: Authority) -> Iterator[Path]:
    """Where the server's user can read it; it is a test's key."""
    folder = Path(tempfile.mkdtemp(prefix="dyno-wire-"))
    try:
        for file in pki.folder.iterdir():
            shutil.copy(file, folder)
            (folder / file.name).chmod(0o644)
        folder.chmod(0o755)
        yield folder
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def old() -> Iterator[Server]:
    """MySQL without encryption: passwords are sealed with its public key."""
    with mysql("--ssl=OFF", "--disable-log-bin", "--innodb-doublewrite=OFF") as server:
        yield server


@pytest.fixture
def database(maria: Server, request: pytest.FixtureRequest) -> Iterator[str]:
    """An empty database of the test's own."""
    name = "d_" + "".join(letter for letter in request.node.name if letter.isalnum())[:50]
    maria.ask(f"CREATE DATABASE {name}")
    yield name
    maria.ask(f"DROP DATABASE {name}")


def engines(server: Server) -> set[str]:
    return {str(row[0]).lower() for row in server.ask("SHOW ENGINES")}


@pytest.mark.parametrize("engine", ["", "rocksdb"])
@pytest.mark.parametrize(
    ("workload", "options"), [("oltp_read_write", SMALL), ("oltp_write_only", SMALL), ("tpcb", {})]
)  # fmt: skip
def test_a_workload_loads_runs_and_holds(
    maria: Server, database: str, workload: str, options: dict[str, str], engine: str
) -> None:
    if engine and engine not in engines(maria):
        pytest.skip(f"this server has no {engine}")
    options = {**options, "storage_engine": engine}
    target = maria.target(database=database)
    done(target, "load", workload, options=options)
    tables = maria.ask(f"SELECT DISTINCT engine FROM information_schema.tables WHERE table_schema = '{database}' "
                       "AND table_name NOT LIKE 'dyno%'")  # fmt: skip
    assert [str(row[0]).lower() for row in tables] == [engine or "innodb"]
    run = done(maria.tcp(database=database), "run", workload, options=options, events=400, threads=4)
    assert run.count + run.errors.get("given_up", 0) == 400
    assert set(done(target, "check", workload, options=options).verdicts.values()) == {"pass"}
    done(target, "cleanup", workload)
    assert maria.ask("SHOW TABLES", database) == []


def test_tpcc_holds_after_load_and_run_and_each_form_of_check_catches_its_corruption(
    maria: Server, database: str
) -> None:
    target = maria.target(database=database)
    done(target, "load", "tpcc", threads=2)
    assert done(target, "check", "tpcc").verdicts == dict.fromkeys(CLAUSES, "pass")
    run = done(target, "run", "tpcc", events=600, threads=4)
    assert run.count == 600
    assert done(target, "check", "tpcc").verdicts == dict.fromkeys(CLAUSES, "pass")
    for one in CORRUPTIONS:
        maria.ask(one["corrupt"], database)
        failed = {clause for clause, verdict in drive(target, "check", "tpcc").verdicts.items() if verdict == "fail"}
        maria.ask(one["undo"], database)
        assert failed == set(one["fails"]), one["clause"]


def test_sets_of_tables_may_have_foreign_keys_which_one_engine_has_not(maria: Server, database: str) -> None:
    refused = drive(
        maria.target(database=database), "load", "tpcc", options={"foreign_keys": "on", "storage_engine": "rocksdb"}
    )
    assert refused.status == 2
    assert refused.error["class"] == "plan"
    assert "rocksdb has none" in refused.error["message"]


def test_a_changed_row_is_caught(maria: Server, database: str) -> None:
    target = maria.target(database=database)
    done(target, "load", "oltp_read_only", options=SMALL)
    maria.ask("UPDATE sbtest2 SET pad = 'short' WHERE id = 7", database)
    found = drive(target, "check", "oltp_read_only", options=SMALL)
    assert found.status == 1
    assert [name for name, verdict in found.verdicts.items() if verdict == "fail"] == ["sbtest2.text"]


def test_an_interrupted_load_goes_on_where_it_stopped(maria: Server, database: str) -> None:
    target = maria.target(database=database)
    done(target, "load", "oltp_read_only", options=SMALL)
    # As if it had been killed between an index and the line that tells of it, and before the second table was made.
    maria.ask("UPDATE dyno_marker SET state = 'loading'; DROP TABLE sbtest2; "
              "DELETE FROM dyno_marker_task WHERE task LIKE 'finish:%' OR task LIKE 'sbtest2:%'", database)  # fmt: skip
    refused = drive(target, "run", "oltp_read_only", options=SMALL, events=1)
    assert "was interrupted" in refused.error["message"]
    done(target, "load", "oltp_read_only", options=SMALL)
    assert maria.ask("SELECT (SELECT COUNT(*) FROM sbtest1), (SELECT COUNT(*) FROM sbtest2)", database) == [
        (2000, 2000)
    ]
    assert set(done(target, "check", "oltp_read_only", options=SMALL).verdicts.values()) == {"pass"}


def sysbench(server: Server, database: str, *words: str) -> str:
    if shutil.which("sysbench") is None:
        pytest.skip("sysbench is not installed")
    ran = subprocess.run(
        ["sysbench", "oltp_read_write", f"--mysql-socket={server.socket}", "--mysql-user=w",
         f"--mysql-password={PASSWORD}", f"--mysql-db={database}", "--tables=2", "--table-size=2000", "--threads=2",
         *words],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_sysbench_runs_on_our_tables_and_we_on_its(maria: Server, database: str) -> None:
    target = maria.target(database=database)
    done(target, "load", "oltp_read_write", options=SMALL)
    assert "queries performed" in sysbench(maria, database, "--events=100", "--time=0", "run")
    done(target, "cleanup", "oltp_read_write")
    sysbench(maria, database, "prepare")
    foreign = drive(target, "run", "oltp_read_write", options=SMALL, events=100)
    assert foreign.error["class"] == "schema"
    adopted = done(target, "run", "oltp_read_write", options=SMALL, events=100, adopt=True)
    assert adopted.count == 100
    assert set(done(target, "check", "oltp_read_write", options=SMALL, adopt=True).verdicts.values()) == {"pass"}


def waiting(server: Server) -> bool:
    return bool(server.ask("SELECT 1 FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"))


def test_a_deadlock_and_a_lock_that_is_not_had_are_repeated(maria: Server, database: str) -> None:
    target = maria.target(database=database)
    done(target, "load", "tpcb")
    maria.ask("CREATE TABLE heavy (a int)", database)
    results: list[Done] = []
    seen: list[dict[str, Any]] = []

    def run() -> None:
        words: dict[str, Any] = {"threads": 1, "retries_max": 100, "interval_s": 0.1}
        results.append(drive(target, "run", "tpcb", events=5, on_event=seen.append, **words))

    def gave_up_waiting() -> bool:
        intervals = [event["transactions"] for event in list(seen) if event["event"] == "interval"]
        return any(one["transaction"]["errors"].get("lock_wait") for one in intervals)

    maria.ask("SET GLOBAL innodb_lock_wait_timeout = 1")
    with contextlib.closing(maria.connect(database)) as ours, ours.cursor() as cursor:
        # The server gives up the transaction that changed less, which is not to be ours.
        cursor.execute("BEGIN")
        cursor.execute("INSERT INTO heavy SELECT seq FROM seq_1_to_5000")
        cursor.execute("SELECT bid FROM pgbench_branches WHERE bid = 1 FOR UPDATE")
        thread = threading.Thread(target=run)
        thread.start()
        wait_for(lambda: waiting(maria), "the driver waits for our branch")
        cursor.execute("UPDATE pgbench_tellers SET filler = 'x'")
        # The deadlock is behind us; now the driver waits for a teller until its time is up, at least once.
        wait_for(gave_up_waiting, "its time is up")
        ours.rollback()
        thread.join(60)
    maria.ask("SET GLOBAL innodb_lock_wait_timeout = 50")
    assert results[0].count == 5
    assert results[0].errors["deadlock"] >= 1
    assert results[0].errors["lock_wait"] >= 1
    assert set(done(target, "check", "tpcb").verdicts.values()) == {"pass"}


def test_connections_that_are_cut_are_opened_anew_and_their_transactions_repeated(maria: Server, database: str) -> None:
    target = maria.target(database=database)
    done(target, "load", "tpcb")
    cut: list[Any] = []

    def cut_once(event: dict[str, Any]) -> None:
        if event["event"] == "interval" and not cut:
            cut.append(maria.ask("SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'w'"))
            maria.ask("KILL CONNECTION USER w")

    run = done(target, "run", "tpcb", time_s=1.5, interval_s=0.2, on_event=cut_once, threads=3)
    assert cut == [[(3,)]]
    assert run.of("summary")[-1]["reconnects"] == 3
    assert run.errors["lost"] >= 1
    after = [event for event in run.of("interval")[2:] if event["transactions"]["transaction"]["count"]]
    assert after, "it went on"


def test_what_is_wrong_is_said_once_and_clearly(maria: Server, database: str) -> None:
    def error(target: dict[str, Any]) -> tuple[str, ...]:
        result = drive(target, "load", "oltp_read_only", options=SMALL)
        assert result.status == 2
        assert len(result.of("error")) == 1
        assert PASSWORD not in str(result.events)
        return tuple(result.error[name] for name in ("class", "message", "hint"))

    kind, message, hint = error(maria.tcp(password="wrong"))
    assert (kind, hint) == ("auth", "Check user, password and the host from which the user may connect.")
    assert "Access denied for user 'w'" in message
    kind, message, hint = error(maria.target(database="nowhere"))
    assert (kind, message) == ("connect", "Unknown database 'nowhere'")
    assert "Create the database" in hint
    kind, message, _ = error(maria.target(host="/nowhere/mysql.sock"))
    assert kind == "connect"
    assert "/nowhere/mysql.sock" in message
    kind, message, _ = error(maria.target(database=""))
    assert "no database is named" in message


def test_too_few_connections_for_the_threads_are_said(maria: Server, database: str) -> None:
    target = maria.target(database=database)
    done(target, "load", "oltp_read_only", options=SMALL)
    maria.ask("SET GLOBAL max_connections = 10")
    try:
        refused = drive(target, "run", "oltp_read_only", options=SMALL, events=100, threads=40)
    finally:
        maria.ask("SET GLOBAL max_connections = 151")
    assert refused.status == 2
    assert "no room for 40 connections: Too many connections" in refused.error["message"]
    assert "above 40" in refused.error["hint"]
    # More than the queue of the socket holds at once.
    run = done(target, "run", "oltp_read_only", options=SMALL, events=300, threads=120, workers=2)
    assert run.count == 300


def test_nothing_is_written_to_a_read_only_server_or_a_replica(maria: Server, database: str) -> None:
    target = maria.target(database=database)
    maria.ask("SET GLOBAL read_only = ON")
    try:
        refused = drive(target, "load", "oltp_read_only", options=SMALL)
    finally:
        maria.ask("SET GLOBAL read_only = OFF")
    assert refused.error["class"] == "schema"
    assert "read-only" in refused.error["message"]
    maria.ask("CHANGE MASTER TO MASTER_HOST = 'primary.example', MASTER_USER = 'x'")
    try:
        refused = drive(target, "load", "oltp_read_only", options=SMALL)
        cleanup = drive(target, "cleanup", "oltp_read_only", options=SMALL)
    finally:
        maria.ask("RESET SLAVE ALL")
    assert 'a replica of "primary.example"' in refused.error["message"]
    assert cleanup.status == 2
    assert maria.ask("SHOW TABLES", database) == []
    done(target, "load", "oltp_read_only", options=SMALL)


def test_a_plug_in_that_we_do_not_speak_is_named(maria: Server) -> None:
    try:
        maria.ask("INSTALL SONAME 'auth_ed25519'")
    except Exception as error:
        pytest.skip(f"the plug-in is not installed: {error}")
    maria.ask("CREATE USER e@'%' IDENTIFIED VIA ed25519 USING PASSWORD('x')")
    refused = drive(maria.target(user="e", password="x"), "cleanup", "tpcb")
    assert refused.error["class"] == "auth"
    assert "client_ed25519" in refused.error["message"]
    assert "mysql_native_password" in refused.error["message"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"tls": "require"}, ""),
        ({"tls": "prefer"}, ""),
        ({"tls": "verify-ca", "tls_ca": "own"}, ""),
        ({"tls": "verify-full", "tls_ca": "own", "host": "localhost"}, ""),
        ({"tls": "verify-full", "tls_ca": "leaf", "host": "localhost"}, ""),
        ({"tls": "verify-full", "tls_ca": "own"}, "for another host"),
        ({"tls": "verify-ca", "tls_ca": "other"}, "no authority that we trust"),
        ({"tls": "verify-ca", "tls_ca": "missing"}, "not readable"),
        ({}, "Access denied"),
        ({"tls": "disable"}, "Access denied"),
    ],
)
def test_encryption_is_as_demanded(
    maria: Server, pki: Authority, tmp_path: Path, words: dict[str, str], says: str
) -> None:
    """The user may connect encrypted only, so that a connection in the clear does not go unnoticed."""
    maria.ask("CREATE USER IF NOT EXISTS c@'%' IDENTIFIED BY 'c' REQUIRE SSL; GRANT ALL ON *.* TO c@'%'")
    files = {"own": pki.certificate, "leaf": pki.server_certificate, "missing": tmp_path / "none.pem"}
    files["other"] = authority(tmp_path / "other").certificate
    words = {**words, **({"tls_ca": str(files[words["tls_ca"]])} if "tls_ca" in words else {})}
    result = drive(maria.tcp(user="c", password="c", **words), "cleanup", "tpcb")
    assert result.status == (2 if says else 0)
    assert not says or says in result.error["message"]


def test_an_encryption_that_is_only_preferred_and_fails_is_done_without(maria: Server) -> None:
    with Proxy(("127.0.0.1", maria.port), breaks_tls=True) as proxy:
        refused = drive(maria.tcp(tls="require", port=proxy.port), "cleanup", "tpcb")
        assert "the encrypted connection was not made" in refused.error["message"]
        done(maria.tcp(tls="prefer", port=proxy.port), "cleanup", "tpcb")
        assert proxy.broken == 2


def test_whole_transactions_pass_encrypted(maria: Server, pki: Authority, database: str) -> None:
    target = maria.tcp(database=database, tls="verify-ca", tls_ca=str(pki.certificate))
    done(target, "load", "oltp_read_write", options=SMALL)
    run = done(target, "run", "oltp_read_write", options=SMALL, events=300, threads=4, workers=2)
    assert run.count == 300
    assert set(done(target, "check", "oltp_read_write", options=SMALL).verdicts.values()) == {"pass"}


@pytest.mark.parametrize("user", ["w", "n", "s"])
def test_all_methods_of_the_other_vendor_work_over_tcp_and_socket(old: Server, user: str) -> None:
    # The first login of a user needs the password itself, the second one is answered from the server's cache.
    for _ in range(2):
        done(old.tcp(user=user), "cleanup", "tpcb")
    old.ask("FLUSH PRIVILEGES")
    done(old.target(user=user, host=str(old.socket)), "cleanup", "tpcb")
    refused = drive(old.tcp(user=user, password="wrong"), "cleanup", "tpcb")
    assert refused.error["class"] == "auth"


def test_a_server_without_encryption_is_refused_when_it_is_demanded(old: Server) -> None:
    refused = drive(old.tcp(tls="require"), "cleanup", "tpcb")
    assert refused.error["class"] == "connect"
    assert "does not encrypt connections" in refused.error["message"]
    done(old.tcp(tls="prefer"), "cleanup", "tpcb")


def test_workloads_run_on_the_other_vendor(old: Server) -> None:
    for workload, options in (("oltp_read_write", SMALL), ("tpcb", {})):
        done(old.target(), "load", workload, options=options)
        assert done(old.tcp(), "run", workload, options=options, events=200, threads=4).count == 200
        assert set(done(old.target(), "check", workload, options=options).verdicts.values()) == {"pass"}


def test_tpcc_runs_on_the_other_vendor(old: Server) -> None:
    done(old.target(), "load", "tpcc")
    assert done(old.target(), "run", "tpcc", events=200, threads=2).count == 200
    assert done(old.target(), "check", "tpcc").verdicts == dict.fromkeys(CLAUSES, "pass")
