"""Conformance of the MySQL family's probes: every probe on every server there is, as owner and without privileges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pymysql
import pytest
from sandbox_tools import temporary_home

from dbdyno.cli.common import SystemClock
from dbdyno.engines.registry import engine_named
from dbdyno.model.engine import Session
from dbdyno.model.errors import TargetError
from dbdyno.model.probe import ColumnKind, Probe
from dbdyno.sandbox.options import SandboxOptions
from dbdyno.sandbox.sandbox import Sandbox, create

SERVERS = {
    "mariadb": ("mariadb", "10.11"),
    "mariadb-11.4": ("mariadb", "11.4"),
    "mysql": ("mysql", "8.0"),
    "mariadb-rocksdb": ("mariadb+rocksdb", "10.11"),
}
MAY_REFUSE = {
    "binlogs": "binary log",
    "galera": "none of",
    "rocksdb_perf": "none of",
    "statements": "",
    "latches": "",
}
"""Probes that a server may refuse to answer, each with a word of the reason."""


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A running server with a table, so that no probe looks at nothing."""
    scheme, version = SERVERS[request.param]
    engine = engine_named(scheme)
    product = scheme.partition("+")[0]
    if not [one for one in engine.recipe().installations() if version in one.version_text and _is(product, one)]:
        pytest.skip(f"{scheme} {version} is not installed")
    clock = SystemClock()
    with temporary_home(clock) as home:
        box = create(home, engine, request.param.replace(".", ""), SandboxOptions(version=version), clock=clock)
        with box.held():
            box.start()
            with connected(box) as connection:
                cursor = connection.cursor()
                cursor.execute("CREATE DATABASE IF NOT EXISTS seen")
                cursor.execute("CREATE TABLE seen.seen (id INT PRIMARY KEY, v INT, KEY (v))")
                cursor.execute("INSERT INTO seen.seen VALUES (1, 1), (2, 2), (3, 3)")
                cursor.execute("CREATE USER 'nobody'@'localhost' IDENTIFIED BY 'x'")
            yield box


def _is(product: str, installation: Any) -> bool:
    return ("mariadb" in installation.version_text.lower()) == (product == "mariadb")


def connected(box: Sandbox, user: str = "", password: str = "") -> pymysql.Connection[Any]:
    return pymysql.connect(
        unix_socket=f"{box.target.host}/mysql.sock",
        user=user or box.target.user,
        password=password or box.secret.reveal() or "",
        autocommit=True,
    )


def answers(session: Session, probes: list[Probe]) -> tuple[dict[str, Any], dict[str, str]]:
    """What was answered, and what was refused with its reason."""
    found, refused = {}, {}
    for probe in probes:
        try:
            found[probe.name] = session.ask(probe)
        except TargetError as error:
            refused[probe.name] = f"{error.what} {error.found}"
    return found, refused


def test_answers_fit_the_headers(server: Sandbox) -> None:
    session = server.engine.connect(server.target, server.secret)
    probes = server.engine.probes(session.version)
    found, refused = answers(session, probes)
    session.close()
    assert refused.keys() <= MAY_REFUSE.keys(), refused
    for probe in probes:
        kinds = {column.name: column for column in probe.columns}
        for row in found.get(probe.name, ()):
            assert row, probe.name
            assert row.keys() <= kinds.keys(), probe.name
            for name, value in row.items():
                where = f"{probe.name}.{name}: {value!r}"
                words = kinds[name].kind in (ColumnKind.KEY, ColumnKind.TEXT)
                if value is not None:
                    assert isinstance(value, str if words else int | float), where
                if kinds[name].kind is ColumnKind.COUNTER and value is not None:
                    assert value >= 0, where
    for name in ("server", "totals"):
        assert len(found[name]) == 1


def test_every_column_is_answered_by_some_server_or_is_said_to_be_of_others(server: Sandbox) -> None:
    """A column that this server does not have names in its help who has it, so that no misspelt name stays unseen."""
    session = server.engine.connect(server.target, server.secret)
    probes = server.engine.probes(session.version)
    found, _ = answers(session, probes)
    session.close()
    excused = ("MySQL", "MariaDB", "off by default", "Percona", "now", "most of", "latest deadlock", "the same")
    for probe in probes:
        rows = found.get(probe.name, ())
        if rows and probe.name not in ("metrics", "galera", "innodb_status", "rocksdb_perf"):
            seen = {name for row in rows for name, value in row.items() if value is not None}
            for column in probe.columns:
                if column.name not in seen:
                    assert any(word in column.help for word in excused), f"{probe.name}.{column.name}"


ROLES = {
    "commits", "rollbacks", "connections", "waiting", "server_started", "rows_written", "wal_bytes", "cache_hits",
    "cache_misses", "data_write_bytes", "deadlocks", "dirty_pages_bytes", "oldest_transaction_s", "temp_spills",
    "sessions_opened",
}  # fmt: skip
OF_PAGES = {"checkpoint_distance_bytes", "checkpoint_age_limit_bytes", "history_list_length", "row_lock_waits"}


def test_the_roles_that_others_ask_for_are_there(server: Sandbox) -> None:
    session = server.engine.connect(server.target, server.secret)
    probes = server.engine.probes(session.version)
    roles = {column.role: (probe, column.name) for probe in probes for column in probe.columns if column.role}
    wanted = ROLES | (OF_PAGES if server.engine.name == "innodb" else set())
    assert wanted <= roles.keys()
    with connected(server) as other:
        other.cursor().execute("BEGIN")
        other.cursor().execute("SELECT * FROM seen.seen")
        for role in sorted(wanted - {"waiting"}):
            probe, column = roles[role]
            rows = session.ask(probe)
            assert rows, role
            assert rows[0].get(column) is not None, role
    session.close()


def test_counters_rise_with_work_and_the_start_stays(server: Sandbox) -> None:
    session = server.engine.connect(server.target, server.secret)
    probes = {probe.name: probe for probe in server.engine.probes(session.version)}
    log = ("innodb", "innodb_os_log_written") if server.engine.name == "innodb" else ("rocksdb", "rocksdb_wal_bytes")
    before = {name: session.ask(probes[name])[0] for name in ("server", "totals", log[0])}
    with connected(server) as connection:
        cursor = connection.cursor()
        for number in range(10, 40):
            cursor.execute("BEGIN")
            cursor.execute("INSERT INTO seen.seen VALUES (%s, 1)", (number,))
            cursor.execute("COMMIT")
        cursor.execute("DELETE FROM seen.seen WHERE id >= 10")
    after = {name: session.ask(probes[name])[0] for name in ("server", "totals", log[0])}
    session.close()
    assert after["server"]["com_commit"] - before["server"]["com_commit"] >= 30
    assert after["totals"]["rows_written"] - before["totals"]["rows_written"] >= 60
    assert after["totals"]["started_unix_s"] == before["totals"]["started_unix_s"]
    assert after[log[0]][log[1]] > before[log[0]][log[1]]


def test_the_holder_of_a_lock_and_the_oldest_transaction_are_named(server: Sandbox) -> None:
    if server.engine.name != "innodb":
        pytest.skip("this storage engine has no table of lock waits")
    session = server.engine.connect(server.target, server.secret)
    probes = {probe.name: probe for probe in server.engine.probes(session.version)}
    with connected(server) as holder, connected(server) as waiter:
        one, other = holder.cursor(), waiter.cursor()
        one.execute("SELECT CONNECTION_ID()")
        thread = one.fetchone()[0]
        one.execute("BEGIN")
        one.execute("UPDATE seen.seen SET v = v + 1 WHERE id = 1")
        other.execute("SET innodb_lock_wait_timeout = 30")
        # Sent without waiting for its answer, which comes when the holder ends.
        waiter._execute_command(3, "UPDATE seen.seen SET v = v + 1 WHERE id = 1")
        clock = SystemClock()
        deadline = clock.monotonic() + 10
        rows: tuple[dict[str, Any], ...] = ()
        # The server copies its transactions anew only when nobody has looked at the copy for a tenth of a second.
        while not rows and clock.monotonic() < deadline:
            clock.sleep(0.2)
            rows = session.ask(probes["lock_waits"])
        assert [row["thread"] for row in rows] == [str(thread)]
        assert rows[0]["waiters"] == 1
        assert rows[0]["locked_table"] == "seen.seen"
        (oldest,) = session.ask(probes["transactions"])
        assert oldest["oldest_thread"] == thread
        assert oldest["oldest_idle"] == 1
        assert oldest["lock_waiting"] == 1
        status = session.ask(probes["innodb_status"])[0]
        assert status["lock_waits"] == 1
        assert status["lock_wait_table"] == "seen.seen (1)"
        assert status["unread"] == 0
        holder.rollback()
        waiter._read_query_result()
    clock.sleep(0.2)
    assert session.ask(probes["lock_waits"]) == ()
    session.close()


def test_without_privileges_the_reason_is_told_instead_of_calm(server: Sandbox) -> None:
    url = f"{server.engine.schemes[0]}://nobody:x@/?host={server.target.host}"
    target, secret = server.engine.target(url, {})
    session = server.engine.connect(target, secret)
    probes = server.engine.probes(session.version)
    found, refused = answers(session, probes)
    session.close()
    assert {"server", "totals"} <= found.keys()
    for probe in probes:
        if probe.privilege:
            assert probe.name in refused, probe.name
            assert "lacks" in refused[probe.name] or "privilege" in refused[probe.name], refused[probe.name]


def test_a_missing_column_is_absent_and_never_zero(server: Sandbox) -> None:
    session = server.engine.connect(server.target, server.secret)
    probes = {probe.name: probe for probe in server.engine.probes(session.version)}
    if "metrics" not in probes:
        session.close()
        pytest.skip("this storage engine has no such counters")
    row = session.ask(probes["metrics"])[0]
    session.close()
    # Off by default: the server's table shows 0 for it, which says nothing.
    assert "trx_rw_commits" not in row
    assert row
