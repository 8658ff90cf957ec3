"""Encryption on the driver's first wire protocol and on the session beside it, against a real server."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sandbox_tools import ask, temporary_home
from wire_servers import Authority, Proxy, authority, done, drive, wait_for

from dbdyno.cli.common import SystemClock
from dbdyno.engines.postgresql.session import connect
from dbdyno.engines.registry import engine_named
from dbdyno.model.errors import TargetError
from dbdyno.model.record import to_dict
from dbdyno.model.target import Target
from dbdyno.sandbox.options import SandboxOptions
from dbdyno.sandbox.sandbox import Sandbox, create


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return authority(tmp_path_factory.mktemp("pki") / "own")


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    """A server that listens on loopback as well; the newest build at hand may be without encryption."""
    clock = SystemClock()
    engine = engine_named("postgresql")
    if not any(one.version_text.startswith("15") for one in engine.recipe().installations()):
        pytest.skip("the distribution's server, which can encrypt, is not installed")
    with temporary_home(clock) as home:
        box = create(home, engine, "tls", SandboxOptions(version="15"), clock=clock)
        with box.held():
            box.start()
            yield box


def over_tcp(box: Sandbox, **changes: Any) -> dict[str, Any]:
    target = box.target
    return {
        "dialect": "postgresql", "host": "localhost", "port": target.port, "user": target.user,
        "password": box.secret.reveal(), "database": target.database, **changes,
    }  # fmt: skip


def test_encryption_is_as_demanded_and_refused_where_the_server_has_none(
    box: Sandbox, pki: Authority, tmp_path: Path
) -> None:
    refused = drive(over_tcp(box, tls="require"), "cleanup", "tpcb")
    assert refused.status == 2
    assert "does not encrypt connections" in refused.error["message"]
    done(over_tcp(box, tls="prefer"), "cleanup", "tpcb")
    _encrypt(box, pki)
    other = str(authority(tmp_path / "other").certificate)
    own = str(pki.certificate)
    for words in ({"tls": "require"}, {"tls": "verify-full", "tls_ca": own}):
        done(over_tcp(box, **words), "load", "tpcb")
        run = done(over_tcp(box, **words), "run", "tpcb", events=100, threads=3, workers=1)
        assert run.count == 100
        assert set(done(over_tcp(box, **words), "check", "tpcb").verdicts.values()) == {"pass"}
    for words, says in (
        ({"tls": "verify-ca", "tls_ca": other}, "no authority that we trust"),
        ({"tls": "verify-full", "tls_ca": own, "host": "127.0.0.1"}, "for another host"),
    ):
        assert says in drive(over_tcp(box, **words), "cleanup", "tpcb").error["message"]


def test_an_encryption_that_is_only_preferred_and_fails_is_done_without(box: Sandbox, pki: Authority) -> None:
    _encrypt(box, pki)
    with Proxy(("localhost", box.target.port), breaks_tls=True) as proxy:
        refused = drive(over_tcp(box, tls="require", port=proxy.port), "cleanup", "tpcb")
        assert "the encrypted connection was not made" in refused.error["message"]
        done(over_tcp(box, tls="prefer", port=proxy.port), "cleanup", "tpcb")
        assert proxy.broken == 2


def test_the_session_is_encrypted_as_the_driver_is(box: Sandbox, pki: Authority, tmp_path: Path) -> None:
    _encrypt(box, pki)
    other = str(authority(tmp_path / "other").certificate)

    def target(**changes: str) -> Target:
        return Target(**{**to_dict(box.target), "host": "localhost", "sandbox": None, "allow": frozenset(), **changes})

    question = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
    for words, encrypted in (
        ({"tls": "disable"}, False),
        ({"tls": "verify-full", "tls_ca": str(pki.certificate)}, True),
    ):
        session = connect(target(**words), box.secret)
        assert session._connection.execute(question).fetchone() == (encrypted,)
    with pytest.raises(TargetError, match="certificate verify failed"):
        connect(target(tls="verify-ca", tls_ca=other), box.secret)


def test_nothing_is_loaded_into_a_read_only_database(box: Sandbox) -> None:
    name = box.target.database
    ask(box, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    try:
        refused = drive(over_tcp(box), "load", "oltp_read_only", options={"table_size": "10"})
    finally:
        # The setting holds for us as well.
        ask(box, f"BEGIN READ WRITE; ALTER DATABASE {name} RESET default_transaction_read_only; COMMIT")
    assert refused.status == 2
    assert "read-only (default_transaction_read_only is on)" in refused.error["message"]
    done(over_tcp(box), "load", "oltp_read_only", options={"table_size": "10"})


def _encrypt(box: Sandbox, pki: Authority) -> None:
    """Gives the server its certificate, under its own user."""
    data = Path(str(ask(box, "SHOW data_directory")[0][0]))
    for file in (pki.server_certificate, pki.server_key):
        copy = data / file.name
        shutil.copy(file, copy)
        copy.chmod(0o600)
        owner = data.stat()
        shutil.chown(copy, owner.st_uid, owner.st_gid)
    for setting in ("ssl_cert_file = 'server.pem'", "ssl_key_file = 'server.key'", "ssl = on"):
        ask(box, f"ALTER SYSTEM SET {setting}")
    ask(box, "SELECT pg_reload_conf()")

    def encrypts() -> bool:
        try:
            psycopg.connect(
                host="localhost", port=box.target.port, user=box.target.user, dbname=box.target.database,
                password=box.secret.reveal() or "none", sslmode="require",
            ).close()  # fmt: skip
        except psycopg.OperationalError as error:
            return "password" in str(error)
        return True

    wait_for(encrypts, "a server that encrypts")
