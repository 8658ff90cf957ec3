"""URLs of Valkey and Redis servers, as their own command line reads them.

`valkey://`, `redis://` and, encrypted, `valkeys://`, `rediss://`; a socket as `redis+socket:///path`,
`valkey+socket:///path` or `unix:///path`. The password is the URL's, else that of `VALKEYCLI_AUTH` or
`REDISCLI_AUTH`; without a user it is that of the user `default`.
Sources: valkey-cli and redis-cli manuals (2024); the IANA registration of the scheme `redis` (2017).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from dbdyno.model.errors import UsageError
from dbdyno.model.target import Secret, Target

ENGINE_NAME = "valkey"
DEFAULT_PORT = 6379
DEFAULT_USER = "default"
_TCP = ("valkey", "redis")
_TLS = ("valkeys", "rediss")
_SOCKET = ("valkey+socket", "redis+socket", "unix")
SCHEMES = (*_TCP, *_TLS, *_SOCKET)
_PASSWORDS = ("VALKEYCLI_AUTH", "REDISCLI_AUTH")
_CHECKS = {"required": "verify-full", "optional": "require", "none": "require"}
_CARRIED = {"db", "username", "password", "ssl_cert_reqs", "ssl_ca_certs", "ssl_check_hostname"}
_NEAR = frozenset({"localhost", "127.0.0.1", "::1"})
_EXAMPLE = "write it like valkey://user@host:6379/0, rediss://host, or unix:///run/valkey/valkey.sock"


def parse(url: str, environment: Mapping[str, str]) -> tuple[Target, Secret]:
    """The target that a URL names, and its password. Raises `UsageError` with what is wrong and an example."""
    scheme, _, rest = url.partition("://")
    try:
        # The library that splits URLs knows no schemes with a plus in them.
        parts = urlsplit("x://" + rest)
        port = parts.port or DEFAULT_PORT
    except ValueError:
        # Its words may quote the URL with its password.
        raise UsageError("This is not a URL of a Valkey or Redis server.", todo=_EXAMPLE) from None
    query = _query(parts.query)
    user = unquote(parts.username or "") or query.get("username") or DEFAULT_USER
    password = unquote(parts.password) if parts.password is not None else query.get("password")
    if password is None:
        password = next((environment[name] for name in _PASSWORDS if environment.get(name)), None)
    host, database = _place(scheme, parts.hostname or "", unquote(parts.path), query)
    near = host.startswith("/") or host in _NEAR
    tls, tls_ca = _encryption(scheme, query)
    target = Target(
        engine=ENGINE_NAME, host=host, port=port, user=user, database=database, tls=tls, tls_ca=tls_ca,
        machine="local" if near else "unknown",
    )  # fmt: skip
    return target, Secret(password)


def _query(text: str) -> dict[str, str]:
    words = dict(parse_qsl(text, keep_blank_values=True))
    if unknown := sorted(set(words) - _CARRIED):
        raise UsageError(
            "The URL holds parameters that would not be used: " + ", ".join(unknown) + ".",
            todo="leave them out; used are: " + ", ".join(sorted(_CARRIED)),
        )
    return words


def _place(scheme: str, host: str, path: str, query: Mapping[str, str]) -> tuple[str, str]:
    """Host or socket, and the number of the database."""
    if scheme in _SOCKET:
        if host or not path.startswith("/"):
            raise UsageError("The URL of a socket needs three slashes and its path.", todo=_EXAMPLE)
        return path, _database(query.get("db", "0"))
    return host or "localhost", _database(path.strip("/") or query.get("db", "0"))


def _database(text: str) -> str:
    if not text.isdecimal():
        raise UsageError("Databases have numbers here, not names.", found=text, todo=_EXAMPLE)
    return text


def _encryption(scheme: str, query: Mapping[str, str]) -> tuple[str, str]:
    """Level and file of authorities. An encrypted URL checks the server unless it says not to."""
    if scheme not in _TLS:
        if set(query) & {"ssl_cert_reqs", "ssl_ca_certs", "ssl_check_hostname"}:
            raise UsageError("Only rediss:// and valkeys:// are encrypted.", todo=_EXAMPLE)
        return "", ""
    word = query.get("ssl_cert_reqs", "required")
    if word not in _CHECKS:
        raise UsageError(f"ssl_cert_reqs={word} is not known.", todo="use one of " + ", ".join(_CHECKS))
    level = _CHECKS[word]
    if level == "verify-full" and query.get("ssl_check_hostname", "true").lower() in ("false", "no", "0"):
        level = "verify-ca"
    roots = query.get("ssl_ca_certs", "")
    if roots and not Path(roots).is_file():
        raise UsageError("The file of the authorities' certificates is not there.", found=roots)
    return level, roots
