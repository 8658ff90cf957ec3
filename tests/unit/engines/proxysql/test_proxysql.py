"""The audit of ProxySQL: over a stand-in of its admin interface, and from saved answers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from fake_admin import VARIABLES, FakeAdmin

from dbdyno.check.audit import Options, audit, audit_dump
from dbdyno.check.host import HostAt
from dbdyno.check.result import Checked
from dbdyno.cli.common import SystemClock
from dbdyno.engines.proxysql import dump
from dbdyno.engines.proxysql.session import ProxySession
from dbdyno.engines.registry import checkable_named, engine_named
from dbdyno.model.errors import TargetError, UsageError
from dbdyno.model.finding import Verdict
from dbdyno.model.target import Secret, Target

ENGINE = checkable_named("proxysql")
STOCK = {"PROXY001", "PROXY003"}
NEEDS_MACHINE = {"PROXY031"}
PLANTED = {"PROXY002", "PROXY004", "PROXY030", "PROXY033", "PROXY034"}


@pytest.fixture
def admin(tmp_path: Path) -> Iterator[FakeAdmin]:
    server = FakeAdmin(str(tmp_path / "admin.sock"))
    yield server
    server.close()


def target_of(admin: FakeAdmin) -> Target:
    return ENGINE.target(f"proxysql:///?socket={admin.path}", {})[0]


def options() -> Options:
    return Options(clock=SystemClock(), config=Path("/nonexistent"), token="T" + "0" * 32, timeout_s=30.0)


def look(admin: FakeAdmin, password: str = "admin") -> Checked:
    return audit(target_of(admin), Secret(password), ENGINE, HostAt(label=""), options())


def found(checked: Checked) -> set[str]:
    return {one.rule for one in checked.of(Verdict.FAIL)}


def put(admin: FakeAdmin, **values: str) -> None:
    for layer in ("global_variables", "runtime_global_variables", "disk.global_variables"):
        for name, value in values.items():
            admin.run(
                f"UPDATE {layer} SET variable_value = '{value}' WHERE variable_name = '{name.replace('__', '-')}'"
            )


def test_a_plain_one_hears_only_of_its_passwords(admin: FakeAdmin) -> None:
    checked = look(admin)
    assert found(checked) == STOCK
    assert {one.rule for one in checked.of(Verdict.UNKNOWN)} == NEEDS_MACHINE | {"PROXY024", "PROXY032"}
    assert checked.server == VARIABLES["admin-version"]
    assert "admin:admin" not in repr(checked)
    assert "geheim" not in repr(checked)
    assert checked.level is None, "it stores nothing and promises nothing"


def test_what_is_planted_is_found_and_nothing_else(admin: FakeAdmin) -> None:
    put(admin, **{
        "admin__stats_credentials": "ro:x;stats:stats", "mysql__monitor_enabled": "false",
        "mysql__multiplexing": "false",
        "mysql__server_version": "5.5.30", "mysql__threshold_query_length": "1073741824",
    })  # fmt: skip
    assert found(look(admin)) == STOCK | PLANTED


def test_layers_servers_accounts_and_monitor(admin: FakeAdmin) -> None:
    row = "({}, '{}', 3306, 0, '{}', 1, 0, 200, 0, {}, 0, '')"
    admin.run(
        "UPDATE runtime_global_variables SET variable_value = '4096' WHERE variable_name = 'mysql-max_connections'",
        f"INSERT INTO runtime_mysql_servers VALUES {row.format(10, 'db1', 'ONLINE', 0)}",
        f"INSERT INTO runtime_mysql_servers VALUES {row.format(10, 'db2', 'SHUNNED', 1)}",
        f"INSERT INTO runtime_mysql_servers VALUES {row.format(20, 'db3', 'OFFLINE_SOFT', 1)}",
        f"INSERT INTO disk.mysql_servers VALUES {row.format(10, 'db1', 'ONLINE', 0)}",
        f"INSERT INTO disk.mysql_servers VALUES {row.format(10, 'db2', 'ONLINE', 1)}",
        "INSERT INTO runtime_mysql_users VALUES ('app', '', 1, 10), ('two', 'clear', 1, 10), ('off', '', 0, 10), "
        "('good', '*6BB4837EB74329105EE4568DDA7DC67ED2CA2AD9', 1, 10)",
        "INSERT INTO stats_mysql_global VALUES ('Client_Connections_connected', '4000'), "
        "('Query_Cache_count_GET', '50000'), ('Query_Cache_count_GET_OK', '5')",
        "INSERT INTO stats_mysql_connection_pool VALUES (10, 'db1', 3306, 'ONLINE', 5, 5, 100, 50, 199, 1)",
        "INSERT INTO monitor.mysql_server_ping_log VALUES ('db1', 3306, 1, 1, 'timeout'), ('db1', 3306, 2, 1, NULL), "
        "('db2', 3306, 1, 1, NULL), ('db2', 3306, 2, 0, 'Access denied')",
    )
    checked = look(admin)
    wanted = {"PROXY005", "PROXY006", "PROXY007", "PROXY008", "PROXY010", "PROXY011", "PROXY012", "PROXY020",
              "PROXY021", "PROXY022", "PROXY023", "PROXY024", "PROXY032"}  # fmt: skip
    assert found(checked) == STOCK | wanted
    says = {one.rule: one.says for one in checked.findings}
    assert "db2:3306: Access denied" in says["PROXY005"]
    assert "db1" not in says["PROXY005"], "its last sign of life was well"
    assert says["PROXY006"].endswith(": app.")
    assert "20/db3:3306" in says["PROXY011"]
    assert "db2" not in says["PROXY011"], "that it is shunned is no change of the configuration"
    assert "clear" not in repr(checked).replace("clear_password", "").replace("in the clear", "")


def test_advice_is_taken_once_and_taken_back(admin: FakeAdmin) -> None:
    put(admin, mysql__multiplexing="false", mysql__monitor_enabled="false", mysql__threshold_query_length="1073741824")
    before = admin.run("SELECT * FROM runtime_global_variables", "SELECT * FROM disk.global_variables")
    checked = look(admin)
    fixes = [fix for one in checked.of(Verdict.FAIL) for fix in one.fixes if fix.kind == "setting"]
    session = ENGINE.connect(target_of(admin), Secret("admin"))
    assert isinstance(session, ProxySession)
    try:
        assert session.apply({fix.name: fix.value for fix in fixes}) == []
        assert found(look(admin)) == STOCK
        session.apply({fix.name: fix.before for fix in fixes})
        assert session.apply({"mysql-threads": 8}) == ["mysql-threads"]
        session.apply({"mysql-threads": 4})
        with pytest.raises(TargetError, match="not known here"):
            session.apply({"mysql-no_such_thing": 1})
    finally:
        session.close()
    assert admin.run("SELECT * FROM runtime_global_variables", "SELECT * FROM disk.global_variables") == before


def test_what_is_refused_is_unknown(admin: FakeAdmin) -> None:
    admin.run("DROP TABLE runtime_mysql_users", "DROP TABLE monitor.mysql_server_ping_log")
    unseen = {one.rule for one in look(admin).of(Verdict.UNKNOWN)}
    assert {"PROXY005", "PROXY006", "PROXY007"} <= unseen


def test_a_wrong_password_and_a_wrong_server_are_told(admin: FakeAdmin, tmp_path: Path) -> None:
    assert "refuses the password" in look(admin, "wrong").problems[0].what
    admin.run("DROP TABLE global_variables", "DROP TABLE disk.global_variables")
    assert "no admin interface" in look(admin).problems[0].what
    nowhere = ENGINE.target(f"proxysql:///?socket={tmp_path}/nowhere", {})[0]
    checked = audit(nowhere, Secret(None), ENGINE, HostAt(label=""), options())
    assert "cannot be reached" in checked.problems[0].what


@pytest.mark.parametrize("url", ["proxysql://h/db", "proxysql://h?x=1", "proxysql://h:port"])
def test_urls_that_cannot_be(url: str) -> None:
    with pytest.raises(UsageError):
        ENGINE.target(url, {})


def test_urls() -> None:
    target, secret = ENGINE.target("proxysql://db1", {"PROXYSQL_ADMIN_PASSWORD": "x", "MYSQL_PWD": "y"})
    assert (target.host, target.port, target.user, secret.reveal()) == ("db1", 6032, "admin", "x")
    with pytest.raises(UsageError, match="can only be checked"):
        engine_named("proxysql")


TABLES = {
    "global_variables": "variable_name\tvariable_value\nadmin-admin_credentials\tadmin:admin\nadmin-version\t2.5.5\n"
    "mysql-monitor_username\tmonitor\nmysql-monitor_password\tmonitor\nmysql-multiplexing\tfalse\n",
    "runtime_mysql_servers": "+--------------+----------+------+---------+-----------------+---------+\n"
    "| hostgroup_id | hostname | port | status  | max_connections | use_ssl |\n"
    "+--------------+----------+------+---------+-----------------+---------+\n"
    "| 10           | db1      | 3306 | SHUNNED | 1000            | 0       |\n"
    "+--------------+----------+------+---------+-----------------+---------+\n1 row in set (0.00 sec)\n",
    "stats_mysql_global": "Variable_Name,Variable_Value\nProxySQL_Uptime,100\nClient_Connections_connected,9\n",
    "stats_mysql_connection_pool": "hostgroup\tsrv_host\tsrv_port\tstatus\tConnUsed\tConnOK\tConnERR\tMaxConnUsed\n"
    "10\tdb1\t3306\tONLINE\t0\t100\t100\t10\n",
}


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_saved_answers(tmp_path: Path, ends: str) -> None:
    for name, text in TABLES.items():
        (tmp_path / f"{name}.txt").write_bytes(text.replace("\n", ends).encode())
    checked = audit_dump(tmp_path, options())
    assert checked.engine == "proxysql"
    assert {"PROXY001", "PROXY003", "PROXY020", "PROXY022", "PROXY030"} <= found(checked)
    assert "PROXY023" in {one.rule for one in checked.of(Verdict.UNKNOWN)}, "the limits are in another table"
    assert not checked.problems
    assert "admin:admin" not in repr(checked)


@pytest.mark.parametrize("text", ["", "a\tb\n1\t2\n", "Variable_name\tValue\nmax_connections\t151\n", "\0\xff|||", "{"])
def test_what_is_not_ours_is_left_to_others(text: str) -> None:
    assert not dump.recognises("dump.txt", text)
    assert dump.parse("dump.txt", text) == []
