"""URLs of ProxySQL's admin interface: `proxysql://user@host:6032`, or `proxysql:///?socket=/tmp/proxysql_admin.sock`.

The password is the URL's, else that of `PROXYSQL_ADMIN_PASSWORD` or `MYSQL_PWD`.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, unquote, urlsplit

from dbdyno.model.errors import UsageError
from dbdyno.model.target import Secret, Target

ENGINE_NAME = "proxysql"
DEFAULT_PORT = 6032
DEFAULT_USER = "admin"
_PASSWORDS = ("PROXYSQL_ADMIN_PASSWORD", "MYSQL_PWD")
_NEAR = frozenset({"localhost", "127.0.0.1", "::1"})
_EXAMPLE = "write it like proxysql://admin@host:6032 or proxysql:///?socket=/tmp/proxysql_admin.sock"


def parse(url: str, environment: Mapping[str, str]) -> tuple[Target, Secret]:
    """The target that a URL names, and its password. Raises `UsageError` with what is wrong and an example."""
    try:
        parts = urlsplit(url)
        port = parts.port or DEFAULT_PORT
    except ValueError:
        raise UsageError("This is not a URL of a ProxySQL admin interface.", todo=_EXAMPLE) from None
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    if unknown := sorted(set(query) - {"socket"}):
        raise UsageError(
            "The URL holds parameters that would not be used: " + ", ".join(unknown) + ".", todo="used is: socket"
        )
    if parts.path.strip("/"):
        raise UsageError("The admin interface has no databases to choose.", found=parts.path, todo=_EXAMPLE)
    password = unquote(parts.password) if parts.password is not None else None
    if password is None:
        password = next((environment[name] for name in _PASSWORDS if environment.get(name)), None)
    host = query.get("socket") or parts.hostname or "localhost"
    target = Target(
        engine=ENGINE_NAME,
        host=host,
        port=port,
        user=unquote(parts.username or "") or DEFAULT_USER,
        database="",
        machine="local" if host.startswith("/") or host in _NEAR else "unknown",
    )
    return target, Secret(password)
