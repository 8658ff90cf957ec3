"""Versions, values, grants and option files of the MySQL family as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.engines._mysql import grants, units, versions
from dbdyno.model.errors import UsageError
from dbdyno.model.knob import Setting


@pytest.mark.parametrize(
    ("text", "number", "short"),
    [
        ("mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64", 1101119, "10.11.19 MariaDB"),
        ("5.5.5-10.3.39-MariaDB-log", 1100339, "10.3.39 MariaDB"),
        ("mysqld  Ver 8.0.12 for linux-glibc2.12 on x86_64 (MySQL Community Server - GPL)", 80012, "8.0.12 MySQL"),
        ("8.0.36-28 Percona Server (GPL), Release 28", 80036, "8.0.36 Percona"),
        ("5.7.44-log MySQL Community Server (GPL)", 50744, "5.7.44 MySQL"),
        ("9.1.0 MySQL Community Server - GPL", 90100, "9.1.0 MySQL"),
        ("11.4.5-MariaDB", 1110405, "11.4.5 MariaDB"),
    ],
)  # fmt: skip
def test_a_version_has_one_number_by_vendor(text: str, number: int, short: str) -> None:
    assert versions.parse(text) == (number, short)


def test_what_is_no_version_is_none() -> None:
    assert versions.parse("error while loading shared libraries: libaio.so.1") is None


def test_no_range_reaches_into_the_other_vendor() -> None:
    newest_mysql, oldest_mariadb = versions.parse("99.99.99 MySQL"), versions.parse("10.0.0-MariaDB")
    assert newest_mysql is not None
    assert oldest_mariadb is not None
    assert newest_mysql[0] < versions.MARIADB <= oldest_mariadb[0]
    assert versions.product(newest_mysql[0]) == "mysql"
    assert versions.product(oldest_mariadb[0]) == "mariadb"


def setting(value: str, name: str = "x") -> Setting:
    return Setting(name=name, value=value)


@pytest.mark.parametrize(
    ("has", "asked", "same"),
    [
        ("75", 75.0, True),
        ("75", "75", True),
        ("134217728", "128M", True),
        ("ON", "1", True),
        ("ON", 1, True),
        ("OFF", "on", False),
        ("O_DIRECT", "o_direct", True),
        ("2000", 2001, False),
        ("0", 4096, False),
    ],
)
def test_agreement_with_what_is_read_back(has: str, asked: str | float, same: bool) -> None:
    assert units.agrees(setting(has), asked) is same


def test_a_size_may_be_rounded_to_its_step_and_no_further() -> None:
    step = 128.0 * (1 << 20)
    assert units.agrees(setting(str(256 << 20)), (200 << 20), step=step)
    assert not units.agrees(setting(str(512 << 20)), (200 << 20), step=step)
    assert not units.agrees(setting(str(8 << 20)), 0, step=step)


@given(st.one_of(st.integers(-1, 2**45), st.floats(0.001, 1e6).map(lambda number: round(number, 6))))
def test_what_is_written_reads_back_as_the_same_number(value: float) -> None:
    assert units.number(units.written(value)) == pytest.approx(value, rel=1e-9)


def test_an_option_file_gets_one_line_a_setting() -> None:
    text, statements = units.render(
        {"innodb_buffer_pool_size": 3 << 30, "innodb_max_dirty_pages_pct": 87.5, "log_bin": "ON", "init_connect": "a b"}
    )
    assert text.splitlines() == [
        "innodb_buffer_pool_size = 3G",
        "innodb_max_dirty_pages_pct = 87.5",
        "log-bin = binlog",
        'init_connect = "a b"',
    ]
    assert statements == [
        "SET GLOBAL innodb_buffer_pool_size = 3221225472;",
        "SET GLOBAL innodb_max_dirty_pages_pct = 87.5;",
        "SET GLOBAL init_connect = 'a b';",
    ]
    assert units.option_lines({"log_bin": "OFF"}) == ["skip-log-bin"]


@pytest.mark.parametrize("name", ["a b", "x\ny", "[client]", "!include"])
def test_a_name_cannot_bring_a_line_of_its_own(name: str) -> None:
    with pytest.raises(UsageError, match="name of a setting"):
        units.option_lines({name: 1})


def test_a_value_cannot_bring_a_line_of_its_own() -> None:
    with pytest.raises(UsageError, match="several lines"):
        units.option_lines({"init_connect": "x\nskip-grant-tables"})


def test_a_quote_ends_no_statement() -> None:
    assert units.literal("a'; DROP TABLE t; --") == "'a''; DROP TABLE t; --'"
    assert units.literal("\\'") == "'\\\\'''"


def test_privileges_on_the_whole_server_count_alone() -> None:
    found = grants.parse(
        [
            "GRANT PROCESS, REPLICATION CLIENT ON *.* TO `m`@`%` IDENTIFIED BY PASSWORD '*A'",
            "GRANT SELECT, SUPER ON `shop`.* TO `m`@`%`",
        ]
    )
    assert "PROCESS" in found
    assert "REPLICATION CLIENT" in found
    assert "SUPER" not in found
    assert "SELECT" not in found


def test_all_privileges_hold_every_one_and_usage_none() -> None:
    assert "PROCESS" in grants.parse(["GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION"])
    assert "PROCESS" not in grants.parse(["GRANT USAGE ON *.* TO `m`@`%`"])
    assert "PROCESS" not in grants.parse(["GRANT ALL PRIVILEGES ON `shop`.* TO `m`@`%`"])
