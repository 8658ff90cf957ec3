"""URLs, option files and environment of the MySQL family's clients."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.engines.registry import engine_named
from dbdyno.model.errors import UsageError
from dbdyno.model.target import Secret, Target

ENGINE = engine_named("mariadb")


@pytest.fixture(autouse=True)
def no_files_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbdyno.engines._mysql.target._FILES", ())


def parse(url: str, **environment: str) -> tuple[Target, Secret]:
    return ENGINE.target(url, {"USER": "me", **environment})


def test_a_whole_url() -> None:
    target, secret = parse("mysql://joe:p%40ss@db.example:3307/shop")
    assert (target.engine, target.host, target.port) == ("innodb", "db.example", 3307)
    assert (target.user, target.database, target.machine) == ("joe", "shop", "unknown")
    assert secret.reveal() == "p@ss"
    assert "p@ss" not in repr(target) + repr(secret)


def test_a_socket_by_folder_or_file() -> None:
    assert parse("mariadb:///x?host=/run/here&port=3310")[0].host == "/run/here"
    target = parse("mariadb:///x?socket=/run/here/my.sock")[0]
    assert (target.host, target.machine) == ("/run/here/my.sock", "local")


def test_localhost_means_the_socket_unless_a_port_is_named() -> None:
    assert parse("mysql://localhost/x", MYSQL_UNIX_PORT="/tmp/a.sock")[0].host == "/tmp/a.sock"
    assert parse("mysql://localhost:3306/x")[0].host == "127.0.0.1"


def test_the_environment_fills_in_what_the_url_leaves_out() -> None:
    target, secret = parse("mysql:///x", MYSQL_HOST="far", MYSQL_TCP_PORT="3399", MYSQL_PWD="s")
    assert (target.host, target.port, target.user, secret.reveal()) == ("far", 3399, "me", "s")
    assert parse("mysql://near/x", MYSQL_HOST="far")[0].host == "near"


def test_the_users_option_file_stands_between_url_and_environment(tmp_path: Path) -> None:
    (tmp_path / ".my.cnf").write_text(
        '[client]\nhost = filed\nuser=anna # hers\npassword = "a # b\\\\"\n[mysqld]\nport=1\n', encoding="utf-8"
    )
    target, secret = parse("mysql:///x", HOME=str(tmp_path), MYSQL_HOST="far")
    assert (target.host, target.user, target.port) == ("filed", "anna", 3306)
    assert secret.reveal() == "a # b\\"
    assert parse("mysql://bob@near/x", HOME=str(tmp_path))[0].user == "bob"


def test_defaults_file_stands_alone_and_extra_file_adds(tmp_path: Path) -> None:
    (tmp_path / ".my.cnf").write_text("[client]\nuser=home\nport=3300\n", encoding="utf-8")
    other = tmp_path / "other.cnf"
    other.write_text("[client]\nuser=other\nport=3301\nhost=o\n", encoding="utf-8")
    alone = parse(f"mysql:///x?defaults-file={other}", HOME=str(tmp_path))[0]
    assert (alone.user, alone.port, alone.host) == ("other", 3301, "o")
    added = parse(f"mysql:///x?defaults-extra-file={other}", HOME=str(tmp_path))[0]
    assert (added.user, added.port, added.host) == ("home", 3300, "o")


def test_files_include_others_but_not_for_ever(tmp_path: Path) -> None:
    folder = tmp_path / "conf.d"
    folder.mkdir()
    (folder / "a.cnf").write_text("[client]\nuser = inner\n", encoding="utf-8")
    main = tmp_path / "main.cnf"
    main.write_text("!includedir conf.d\n", encoding="utf-8")
    assert parse(f"mysql://h/x?defaults-file={main}")[0].user == "inner"
    main.write_text("!include main.cnf\n", encoding="utf-8")
    with pytest.raises(UsageError, match="include one another"):
        parse(f"mysql://h/x?defaults-file={main}")


@pytest.mark.parametrize(
    ("words", "tls"),
    [("", "disable"), ("ssl-mode=PREFERRED", "prefer"),
        ("ssl-mode=REQUIRED", "require"), ("ssl_mode=verify_identity&ssl-ca=/ca.pem", "verify-full"),
     ("ssl-mode=DISABLED", "disable"), ("ssl-ca=/ca.pem", "verify-ca")],
)  # fmt: skip
def test_encryption_is_carried_in_our_words(words: str, tls: str) -> None:
    assert parse(f"mysql://h/x?{words}")[0].tls == tls


@pytest.mark.parametrize(
    "url",
    ["mysql://h:99999/x", "mysql://h:port/x", "mysql://a,b/x", "mysql://h/x?compress=1", "mysql://h/x?ssl-mode=maybe",
     "mysql:///x?defaults-file=/not/there", "mysql://joe:secretword@[::1/x"],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_words(url: str) -> None:
    with pytest.raises(UsageError) as error:
        parse(url)
    assert "secretword" not in str(error.value)


def test_a_file_that_anybody_may_write_is_refused(tmp_path: Path) -> None:
    path = tmp_path / ".my.cnf"
    path.write_text("[client]\nuser=x\n", encoding="utf-8")
    path.chmod(0o666)
    with pytest.raises(UsageError, match="anybody"):
        parse("mysql:///x", HOME=str(tmp_path))


def test_a_scheme_chooses_the_product_and_a_word_the_storage_engine() -> None:
    assert engine_named("mysql").schemes[0] == "mysql"
    assert "mysql" not in engine_named("mariadb").schemes
    assert set(engine_named("innodb").schemes) > {"mysql", "mariadb"}
    assert engine_named("mariadb+rocksdb").name == engine_named("myrocks").name == "myrocks"
    assert engine_named("mysql+innodb").name == "innodb"
    with pytest.raises(UsageError, match="no engine"):
        engine_named("mariadb+aria")
