"""URLs of servers, read as the engine's own tools read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.engines.postgresql import target as subject
from dbdyno.model.errors import UsageError

EMPTY = {"USER": "anna", "HOME": "/nonexistent"}


@pytest.mark.parametrize(
    ("url", "host", "port", "user", "database"),
    [
        ("postgresql://eve@db.example:6000/shop", "db.example", 6000, "eve", "shop"),
        ("postgres://eve@db.example/shop", "db.example", 5432, "eve", "shop"),
        ("postgresql://db.example", "db.example", 5432, "anna", "anna"),
        ("postgresql://eve@db.example", "db.example", 5432, "eve", "eve"),
        ("postgresql:///shop?host=/run/pg&port=6001", "/run/pg", 6001, "anna", "shop"),
        ("postgresql://eve@%2Frun%2Fpg/shop", "/run/pg", 5432, "eve", "shop"),
        ("postgresql://eve@[::1]:6002/shop", "::1", 6002, "eve", "shop"),
        ("postgresql://eve%40home@db.example/sh%20op", "db.example", 5432, "eve@home", "sh op"),
        ("postgresql://db.example/shop?user=eve&sslmode=prefer", "db.example", 5432, "eve", "shop"),
    ],
)
def test_urls_are_read(url: str, host: str, port: int, user: str, database: str) -> None:
    target, _ = subject.parse(url, EMPTY)
    assert (target.host, target.port, target.user, target.database) == (host, port, user, database)
    assert target.engine == "postgresql"
    assert not target.allow


def test_what_the_url_leaves_out_comes_from_the_environment() -> None:
    environment = {
        **EMPTY,
        "PGHOST": "/run/x",
        "PGPORT": "7000",
        "PGUSER": "bob",
        "PGPASSWORD": "s3",
        "PGDATABASE": "d",
    }
    target, secret = subject.parse("postgresql://", environment)
    assert (target.host, target.port, target.user, target.database) == ("/run/x", 7000, "bob", "d")
    assert secret.reveal() == "s3"
    target, secret = subject.parse("postgresql://eve:own@h:1/e", environment)
    assert (target.host, target.port, target.user, target.database) == ("h", 1, "eve", "e")
    assert secret.reveal() == "own"


@pytest.mark.parametrize(
    ("words", "level"),
    [("", ""), ("sslmode=disable", "disable"), ("sslmode=allow", "disable"), ("sslmode=prefer", "prefer"),
     ("sslmode=require", "require")],
)  # fmt: skip
def test_encryption_is_as_the_url_says_and_none_without_a_word(words: str, level: str) -> None:
    target, _ = subject.parse(f"postgresql://h/db?{words}", EMPTY)
    assert (target.tls, target.tls_ca) == (level, "")
    assert subject.encryption(target) == (f"sslmode={level}" if level else "")


def test_a_file_of_authorities_makes_the_server_prove_itself(tmp_path: Path) -> None:
    (tmp_path / ".postgresql").mkdir()
    roots = tmp_path / ".postgresql" / "root.crt"
    roots.write_text("a certificate")
    with_file = {**EMPTY, "HOME": str(tmp_path)}
    for words, level in (("sslmode=require", "verify-ca"), ("sslmode=verify-full", "verify-full")):
        target, _ = subject.parse(f"postgresql://h/db?{words}", with_file)
        assert (target.tls, target.tls_ca) == (level, str(roots))
        assert subject.encryption(target) == f"sslmode={level} sslrootcert={roots}"
    assert subject.parse("postgresql://h/db", with_file)[0].tls == ""
    with pytest.raises(UsageError, match="verify-full only"):
        subject.parse("postgresql://h/db?sslmode=require", {**EMPTY, "PGSSLROOTCERT": "system"})
    with pytest.raises(UsageError, match="is not known"):
        subject.parse("postgresql://h/db", {**EMPTY, "PGSSLMODE": "on"})
    target, _ = subject.parse("postgresql://h/db?sslmode=verify-full&sslrootcert=system", with_file)
    assert (target.tls, target.tls_ca) == ("verify-full", "")
    assert subject.encryption(target) == "sslmode=verify-full sslrootcert=system"


def test_the_machine_is_ours_only_when_the_server_is() -> None:
    assert subject.parse("postgresql:///x?host=/run/pg", EMPTY)[0].machine == "local"
    assert subject.parse("postgresql://localhost/x", EMPTY)[0].machine == "local"
    assert subject.parse("postgresql://db.example/x", EMPTY)[0].machine == "unknown"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("postgresql://h:port/db", "port"),
        ("postgresql://h:0/db", "port"),
        ("postgresql://h:70000/db", "port"),
        ("postgresql://a,b/db", "several hosts"),
        ("postgresql://h/db?sslmode=verify-full", "certificate of the authority"),
        ("postgresql://h/db?sslmode=verify-ca&sslrootcert=/nowhere/ca.pem", "certificate of the authority"),
        ("postgresql://h/db?sslmode=require&sslrootcert=system", "verify-full only"),
        ("postgresql://h/db?application_name=x", "application_name"),
        ("postgresql://h/db?nonsense=1", "URL"),
        ("postgresql://u@[::1/db", "URL"),
    ],
)
def test_bad_urls_are_refused_with_what_is_wrong(url: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        subject.parse(url, EMPTY)
    assert caught.value.todo


@pytest.mark.parametrize("url", ["postgresql://u:hunter2@h/db?nonsense=1", "postgresql://u:hunter2@[::1/db"])
def test_a_refusal_does_not_show_the_password(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        subject.parse(url, EMPTY)
    assert "hunter2" not in str(caught.value)


PASSFILE = r"""
# a comment
db.example:5432:shop:eve:first
db.example:*:*:bob:with\:colon\\and backslash
*:*:*:*:last
"""


@pytest.mark.parametrize(
    ("who", "password"),
    [
        (("db.example", "5432", "shop", "eve"), "first"),
        (("db.example", "5433", "shop", "eve"), "last"),
        (("db.example", "1", "x", "bob"), r"with:colon\and backslash"),
    ],
)
def test_the_first_line_of_the_password_file_that_fits_counts(who: tuple[str, str, str, str], password: str) -> None:
    assert subject.password_of(PASSFILE, who) == password


def test_no_line_no_password() -> None:
    assert subject.password_of("other:5432:a:b:c\nbroken line\n", ("h", "5432", "a", "b")) is None


def test_the_password_file_of_the_home_is_used_unless_others_can_read_it(tmp_path: Path) -> None:
    passfile = tmp_path / ".pgpass"
    passfile.write_text("h:5432:db:eve:secret\n")
    passfile.chmod(0o600)
    assert subject.parse("postgresql://eve@h/db", {"HOME": str(tmp_path)})[1].reveal() == "secret"
    passfile.chmod(0o644)
    with pytest.raises(UsageError, match="read by others"):
        subject.parse("postgresql://eve@h/db", {"HOME": str(tmp_path)})


def test_a_service_gives_what_the_url_leaves_out(tmp_path: Path) -> None:
    services = tmp_path / "services.conf"
    services.write_text("# c\n[prod]\nhost=db.prod\nport=6543\nuser=svc\ndbname=shop\n\n[other]\nhost=x\n")
    environment = {**EMPTY, "PGSERVICEFILE": str(services)}
    target, _ = subject.parse("postgresql:///?service=prod", environment)
    assert (target.host, target.port, target.user, target.database) == ("db.prod", 6543, "svc", "shop")
    target, _ = subject.parse("postgresql:///own", {**environment, "PGSERVICE": "prod"})
    assert (target.host, target.database) == ("db.prod", "own")
    with pytest.raises(UsageError, match="no service 'nope'"):
        subject.parse("postgresql:///?service=nope", environment)
