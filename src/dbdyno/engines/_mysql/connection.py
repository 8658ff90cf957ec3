"""Opens connections to a server of the family, and puts its refusals into words."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any, TypeAlias

import pymysql

from dbdyno.model.errors import TargetError
from dbdyno.model.target import Secret, Target

CONNECT_TIMEOUT_S = 10
SOCKET = "mysql.sock"
"""Name of the socket in the folder that `Target.host` may be."""
_UNREACHABLE = {2002, 2003, 2005, 2006, 2013}

Connection: TypeAlias = "pymysql.connections.Connection[Any]"


def socket_file(host: str) -> str:
    """The socket of a host that begins with `/`: it is the file, or the folder that holds it."""
    return str(Path(host) / SOCKET) if Path(host).is_dir() or not host.endswith(".sock") else host


def connection_to(target: Target, secret: Secret, *, timeout_s: float = CONNECT_TIMEOUT_S) -> Connection:
    """Opens a connection. Raises what PyMySQL raises; `RuntimeError` for an encryption that the server lacks."""
    where: dict[str, Any] = (
        {"unix_socket": socket_file(target.host)}
        if target.host.startswith("/")
        else {"host": target.host, "port": target.port}
    )
    # The socket's time-out is the net under the server's own limits on statements.
    connection: Connection = pymysql.connect(
        user=target.user,
        password=secret.reveal() or "",
        database=target.database or None,
        connect_timeout=max(1, int(timeout_s)),
        read_timeout=30,
        write_timeout=30,
        charset="utf8mb4",
        autocommit=True,
        program_name="dyno",
        **where,
        **_encryption(target),
    )
    demanded = target.tls not in ("", "disable", "prefer") and not target.host.startswith("/")
    if demanded and not getattr(connection, "_secure", False):
        connection.close()
        raise RuntimeError("the server offers no encryption")
    return connection


def _encryption(target: Target) -> dict[str, Any]:
    if target.tls in ("", "disable") or target.host.startswith("/"):
        return {"ssl_disabled": True}
    context = ssl.create_default_context(cafile=target.tls_ca or None)
    context.check_hostname = target.tls == "verify-full"
    if target.tls in ("prefer", "require"):
        context.verify_mode = ssl.CERT_NONE
    return {"ssl": context}


def connect(target: Target, secret: Secret) -> Connection:
    """Opens a connection. Raises `TargetError`: not reachable, wrong password, no such database, no free slot."""
    try:
        return connection_to(target, secret)
    except (pymysql.Error, OSError, RuntimeError) as error:
        raise refused(target, error) from None


class ReadOnlySetting(TargetError):
    """Only a restart changes it."""


def words_of(error: BaseException) -> tuple[int, str]:
    """The number and the words of an error, the server's own where it has some."""
    code = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    text = str(error.args[1]) if len(error.args) > 1 else str(error)
    return code, " ".join(text.split())


def refused(target: Target, error: BaseException) -> TargetError:
    """Why there is no connection. Numbers: MySQL and MariaDB manuals, "Error Codes"."""
    code, text = words_of(error)
    found = f"{text} (error {code})" if code else text
    for codes, what, todo in _REFUSALS:
        if code in codes:
            return TargetError(f"{what}: {target.label}.", found=found, todo=todo)
    if isinstance(error, ssl.SSLError) or "SSL" in text or "encryption" in text:
        return TargetError(
            f"There is no encrypted connection: {target.label}.",
            found=found,
            todo="check ssl-mode and ssl-ca in the URL, and the server's certificate",
        )
    return TargetError(f"Cannot connect to {target.label}.", found=found, todo="see the server's log for the reason")


_REFUSALS: tuple[tuple[set[int], str, str], ...] = (
    ({1045, 1698}, "The server refuses the password",
     "check the user, and the password in MYSQL_PWD, ~/.my.cnf or the target file's password_env/password_file"),
    ({1130, 1129}, "The server does not let this host in",
     "make an account for it (CREATE USER …@'host'), or connect from elsewhere"),
    ({1044, 1049}, "There is no such database, or none for this user",
     "name an existing one at the end of the URL, or create it (CREATE DATABASE)"),
    ({1040, 1203, 1226}, "The server has no free connection slot", "close connections, or raise max_connections"),
    ({1251, 1524, 2059, 2061}, "The account's way to prove itself is not one that we know",
     "use caching_sha2_password or mysql_native_password (ALTER USER … IDENTIFIED WITH …)"),
    ({1820, 1862}, "The password has expired", "set a new one (ALTER USER … IDENTIFIED BY …)"),
    ({1053, 1927}, "The server does not answer queries now", "wait until it is up, then try again"),
    (_UNREACHABLE, "The server cannot be reached",
     "check that it runs, and host and port or socket in the URL, MYSQL_HOST, MYSQL_TCP_PORT, MYSQL_UNIX_PORT"),
)  # fmt: skip
