"""What people send of servers of the MySQL family: every form that a client prints, cut off, and from elsewhere."""

from __future__ import annotations

import contextlib

import pytest

from dbdyno.engines._mysql.facts import derive
from dbdyno.engines.innodb.dump import collect_script, parse, recognises
from dbdyno.model.fact import Fact, Scalar
from dbdyno.model.facts import Facts, MissingFact

TABBED = "Variable_name\tValue\ninnodb_buffer_pool_size\t134217728\nsync_binlog\t0\nversion\t8.0.36-28.1\n"
BOXED = """+-------------------------+-----------------+
| Variable_name           | Value           |
+-------------------------+-----------------+
| innodb_buffer_pool_size | 134217728       |
| sync_binlog             | 0               |
| version                 | 8.0.36-28.1     |
+-------------------------+-----------------+
3 rows in set (0.00 sec)
"""
VERTICAL = """*************************** 1. row ***************************
Variable_name: innodb_buffer_pool_size
        Value: 134217728
*************************** 2. row ***************************
Variable_name: sync_binlog
        Value: 0
*************************** 3. row ***************************
Variable_name: version
        Value: 8.0.36-28.1
"""
BARE = "innodb_buffer_pool_size\t134217728\nsync_binlog\t0\nversion\t8.0.36-28.1\n"
CONF = """[client]
password = hush
[mysqld]
innodb-buffer-pool-size = 128M   # a comment
sync_binlog=0
; another
skip-log-bin
wsrep_sst_auth = "user:hush"
log_error = 'C:/logs/x.err'
loose-innodb_doublewrite = OFF
[mysqldump]
quick
"""
STATUS = "Variable_name\tValue\nThreads_connected\t3\nUptime\t86400\nInnodb_log_waits\t7\n"
SUMMARY = """# Percona Toolkit MySQL Summary Report #######################
              System time | 2023-03-01 10:00:00 UTC
# Report On Port 3306 ########################################
                  Version | 5.7.44-48-log Percona Server (GPL)
# InnoDB #####################################################
                  Version | 5.7.44-48
         Buffer Pool Size | 16.0G
             Flush Method | O_DIRECT
      Flush Log At Commit | 2
"""


def known(*files: tuple[str, str]) -> dict[str, Scalar]:
    facts: list[Fact] = []
    for name, text in files:
        assert recognises(name, text), name
        facts += parse(name, text)
    return {fact.name: fact.value for fact in facts if not fact.unknown}


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("text", [TABBED, BOXED, VERTICAL, BARE], ids=["tabs", "box", "vertical", "bare"])
def test_variables_in_every_form(text: str, ends: str) -> None:
    found = known(("sent.txt", text.replace("\n", ends)))
    assert found["setting.innodb_buffer_pool_size"] == "134217728"
    assert found["setting.sync_binlog"] == "0"
    assert found["server.version"] == 80036
    assert found["server.settings_complete"] is False


def test_counters_are_no_settings() -> None:
    found = known(("status.txt", STATUS))
    assert found["status.innodb_log_waits"] == 7
    assert found["server.uptime_s"] == 86400
    assert not any(name.startswith("setting.") for name in found)


def test_both_in_one_file_are_told_apart() -> None:
    found = known(("all.txt", TABBED + STATUS.partition("\n")[2]))
    assert found["setting.sync_binlog"] == "0"
    assert found["status.threads_connected"] == 3
    assert found["status.innodb_log_waits"] == 7


def test_an_option_file_speaks_of_the_server_only() -> None:
    found = known(("my.cnf", CONF))
    assert found["setting.innodb_buffer_pool_size"] == str(128 << 20)
    assert found["setting.sync_binlog"] == "0"
    assert found["setting.log_bin"] == "OFF"
    assert found["setting.innodb_doublewrite"] == "OFF"
    assert found["setting.log_error"] == "C:/logs/x.err"
    assert "setting.quick" not in found
    assert "hush" not in repr(found)


def test_a_summary() -> None:
    found = known(("summary.txt", SUMMARY))
    assert found["server.version"] == 50744
    assert found["setting.innodb_flush_log_at_trx_commit"] == "2"
    assert found["setting.innodb_buffer_pool_size"] == str(16 << 30)


@pytest.mark.parametrize(
    ("version", "comment", "number", "flavour"),
    [
        ("5.7.44-48-log", "Percona Server (GPL)", 50744, "percona"),
        ("10.11.19-MariaDB-0+deb12u1", "Debian 12", 1101119, "mariadb"),
        ("5.5.5-10.6.12-MariaDB", "", 1100612, "mariadb"),
        ("8.0.36-28.1", "Percona Server (GPL), Release 28", 80036, "percona"),
        ("8.0.mysql_aurora.3.04.0", "Source distribution", 80000, "aurora"),
        ("8.0.35-azure", "Source distribution", 80035, "azure"),
        ("8.0.32", "Source distribution /rdsdbbin", 80032, "rds"),
    ],
)
def test_versions_of_all_houses(version: str, comment: str, number: int, flavour: str) -> None:
    text = f"Variable_name\tValue\nversion\t{version}\nversion_comment\t{comment}\nmax_connections\t10\n"
    facts = parse("v.txt", text)
    more = list(derive_quietly(facts))
    found = {fact.name: fact.value for fact in [*facts, *more]}
    assert (found["server.version"], found["server.flavour"]) == (number, flavour)


def derive_quietly(facts: list[Fact]) -> list[Fact]:
    found = []
    with contextlib.suppress(MissingFact):
        for fact in derive(Facts(facts)):
            found.append(fact)
    return found


@pytest.mark.parametrize("text", [TABBED, BOXED, VERTICAL, CONF, STATUS, SUMMARY])
def test_half_a_file_never_breaks_and_never_invents(text: str) -> None:
    whole = known(("x.cnf" if text is CONF else "x.txt", text))
    for cut in range(len(text)):
        for fact in parse("x.cnf" if text is CONF else "x.txt", text[:cut]):
            if fact.name not in ("server.version", "server.version_text"):
                assert fact.name in whole or fact.name.partition(".")[0] in ("setting", "status"), fact.name
                assert fact.name != "server.settings_complete" or fact.value is False


@pytest.mark.parametrize(
    "text", ["", "hello", "name,setting\nshared_buffers,16384\n", "vm.swappiness = 1\n", "PostgreSQL 15.18 on x", "{}"]
)
def test_what_is_not_ours_is_left(text: str) -> None:
    assert not recognises("x.txt", text)


def test_the_script_asks_what_is_read_back() -> None:
    script = collect_script()
    assert "emit mysql/variables.txt" in script
    assert "emit mysql/question_no_primary_key_0.txt" in script
    found = known(("mysql/question_no_primary_key_0.txt", "c0\tc1\n2\tshop.a, shop.b\n"))
    assert found == {"schema.no_primary_key_count": 2, "schema.no_primary_key_examples": "shop.a, shop.b"}


HEADER = "Slave_IO_Running\tSlave_SQL_Running\tSeconds_Behind_Master\tLast_Error\n"


@pytest.mark.parametrize(
    ("text", "role"),
    [("done\ndone\n", "primary"), (HEADER + "Yes\tNo\tNULL\tno such table\ndone\ndone\n", "replica"), ("", None)],
)
def test_the_replica_of_the_script(text: str, role: str | None) -> None:
    """An answer that was refused is no primary."""
    found = known(("mysql/replica.txt", text))
    assert found.get("server.role") == role
    assert found.get("replication.sql_running") == ("No" if role == "replica" else None)
    assert "replication.lag_s" not in found
