"""URLs of servers of the MySQL family, read as its own clients read their options.

The URL's own words come first, then the option files, then the environment (`MYSQL_HOST` …), then the defaults; this is
the clients' order with the URL in the place of the command line. Source: MySQL 8.0 manual, "Command-Line Options for
Connecting to the Server", "Using Option Files", "Environment Variables"; MariaDB manual, "Configuring MariaDB with
Option Files".
"""

from __future__ import annotations

import getpass
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from dbdyno.model.errors import UsageError
from dbdyno.model.target import Secret, Target

DEFAULT_PORT = 3306
SOCKETS = ("/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock")
"""Debian's default, Red Hat's, upstream's."""
_ENVIRONMENT = {"host": "MYSQL_HOST", "port": "MYSQL_TCP_PORT", "socket": "MYSQL_UNIX_PORT", "password": "MYSQL_PWD"}
_GROUPS = ("client", "mysql", "client-server", "client-mariadb", "mariadb-client")
"""Later ones win within a file's own order."""
_FILES = ("/etc/my.cnf", "/etc/mysql/my.cnf")
_CARRIED = {
    "host", "port", "socket", "user", "password", "database", "ssl-mode", "ssl-ca", "defaults-file",
    "defaults-extra-file",
}  # fmt: skip
_TLS = {"disabled": "disable", "preferred": "prefer", "required": "require", "verify_ca": "verify-ca",
        "verify_identity": "verify-full"}  # fmt: skip
_INCLUDES_MAX = 10
_EXAMPLE = "write it like mariadb://user@host:3306/database or mysql:///database?socket=/run/mysqld/mysqld.sock"


def parse(url: str, environment: Mapping[str, str], *, engine: str) -> tuple[Target, Secret]:
    """The target that a URL names, and its password. Raises `UsageError` with what is wrong and an example."""
    given = _words(url)
    if unknown := sorted(set(given) - _CARRIED):
        raise UsageError(
            "The URL holds parameters that would not be used: " + ", ".join(unknown) + ".",
            todo="leave them out; used are: " + ", ".join(sorted(_CARRIED)),
        )
    words = {**_of_environment(environment), **_of_files(given, environment), **given}
    host = _host(words, given)
    local = host.startswith("/") or host in {"localhost", "127.0.0.1", "::1"}
    target = Target(
        engine=engine,
        host=host,
        port=_port(words.get("port")),
        user=words.get("user") or environment.get("USER") or environment.get("LOGNAME") or getpass.getuser(),
        database=words.get("database", ""),
        machine="local" if local else "unknown",
        tls=_tls(words),
        tls_ca=words.get("ssl-ca", ""),
    )
    return target, Secret(words.get("password"))


def _words(url: str) -> dict[str, str]:
    try:
        parts = urlsplit(url)
        words = {
            "host": unquote(parts.hostname or ""),
            "port": str(parts.port or ""),
            "user": unquote(parts.username or ""),
            "password": unquote(parts.password or ""),
            "database": unquote(parts.path.removeprefix("/")),
        }
        pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError as error:
        # Its words may hold the URL, and that a password.
        what = "the port" if "port" in str(error).lower() else "the URL's form"
        raise UsageError("This is not a URL of a server of this kind.", found=what, todo=_EXAMPLE) from None
    words |= {name.replace("_", "-"): value for name, value in pairs}
    return {name: value for name, value in words.items() if value != ""}


def _of_environment(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: environment[variable] for name, variable in _ENVIRONMENT.items() if environment.get(variable)}


def _of_files(given: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """`defaults-file` stands alone and must be there, as `defaults-extra-file` must; the others need not."""
    home = environment.get("HOME")
    own = Path(environment.get("MYSQL_HOME", "/nonexistent")) / "my.cnf"
    if only := given.get("defaults-file"):
        paths = [_demanded(only)]
    else:
        extra = [_demanded(given["defaults-extra-file"])] if "defaults-extra-file" in given else []
        paths = [*map(Path, _FILES), own, *extra, *([Path(home) / ".my.cnf"] if home else [])]
    words: dict[str, str] = {}
    for path in paths:
        words |= _of_file(path, 0)
    return words


def _demanded(text: str) -> Path:
    path = Path(text).expanduser()
    if not path.is_file():
        raise UsageError(f"The option file {path} is not there.", todo="correct the URL's defaults-file")
    return path


def _of_file(path: Path, depth: int) -> dict[str, str]:
    if depth > _INCLUDES_MAX:
        raise UsageError(f"Option files include one another more than {_INCLUDES_MAX} times.", found=str(path))
    try:
        if not path.is_file():
            return {}
        text = path.read_text(encoding="utf-8", errors="replace")
        open_to_all = bool(path.stat().st_mode & stat.S_IWOTH)
    except OSError as error:
        raise UsageError(f"The option file {path} cannot be read.", found=error.strerror or str(error)) from None
    if open_to_all:
        # The clients ignore such a file with a warning; a password that is silently not used is a riddle.
        raise UsageError(f"The option file {path} can be written by anybody, so it is not used.", todo="chmod o-w it")
    words, included = option_words(text)
    for kind, name in included:
        where = path.parent / name
        inner = sorted(where.glob("*.cnf")) if kind == "includedir" else [where]
        for one in inner:
            words |= _of_file(one, depth + 1)
    return words


def option_words(text: str, groups: Iterable[str] = _GROUPS) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """The words of an option file's client groups that name a server, and what the file includes. Pure."""
    words: dict[str, str] = {}
    included: list[tuple[str, str]] = []
    group = ""
    for raw in text.splitlines():
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if include := re.match(r"!(include|includedir)\s+(.+)", line):
            included.append((include[1], include[2].strip()))
        elif section := re.fullmatch(r"\[([^\]]+)\].*", line):
            group = section[1].strip()
        elif group in set(groups):
            name, sign, value = line.partition("=")
            name = name.strip().replace("_", "-").removeprefix("loose-")
            if sign and name in _CARRIED - {"defaults-file", "defaults-extra-file"}:
                words[name] = unquoted(value)
            elif name in ("ssl", "skip-ssl"):
                words.setdefault("ssl-mode", "PREFERRED" if name == "ssl" else "DISABLED")
    return words, included


def unquoted(value: str) -> str:
    """A value without its quotes, escapes and the comment behind it. Source: MySQL manual, "Using Option Files"."""
    text = value.strip()
    if text[:1] in ("'", '"') and (end := text.find(text[0], 1)) > 0:
        text = text[1:end]
    else:
        text = re.split(r"\s#", text, maxsplit=1)[0].strip()
    known = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "s": " ", "\\": "\\"}
    return re.sub(r"\\([ntrbs\\])", lambda match: known[match[1]], text)


def _host(words: Mapping[str, str], given: Mapping[str, str]) -> str:
    """A name, or the socket's file; `localhost` means the socket, as it does to the clients."""
    if "socket" in given or given.get("host", "").startswith("/"):
        return given.get("socket") or given["host"]
    host = words.get("host", "localhost")
    if "," in host:
        raise UsageError("The URL names several hosts.", todo="name the one server that is to be measured")
    if host != "localhost":
        return host
    if "port" in given:
        return "127.0.0.1"
    if "socket" in words:
        return words["socket"]
    return next((one for one in SOCKETS if Path(one).exists()), SOCKETS[0])


def _port(text: str | None) -> int:
    if text is None:
        return DEFAULT_PORT
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise UsageError("The port is not a number from 1 to 65535.", found=text, todo=_EXAMPLE)
    return int(text)


def _tls(words: Mapping[str, str]) -> str:
    """Without a word nothing is encrypted, other than with the server's clients: it is part of what is measured."""
    word = words.get("ssl-mode", "VERIFY_CA" if "ssl-ca" in words else "DISABLED").lower().replace("-", "_")
    if word not in _TLS:
        raise UsageError(f"There is no ssl-mode {words['ssl-mode']!r}.", todo="use: " + ", ".join(_TLS))
    return _TLS[word]
