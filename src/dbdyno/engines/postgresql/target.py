"""URLs of PostgreSQL servers, read as libpq reads them.

The URL's own words come first, then a service file (`PGSERVICE`), then the environment (`PGHOST` …), then libpq's
defaults; a password that is in none of them is looked up in the password file. Source: PostgreSQL manual, "Connection
Strings", "Environment Variables", "The Password File", "The Connection Service File".
"""

from __future__ import annotations

import configparser
import getpass
import stat
from collections.abc import Mapping
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from dbdyno.model.errors import UsageError
from dbdyno.model.target import Secret, Target

ENGINE_NAME = "postgresql"
DEFAULT_PORT = 5432
_SOCKET_FOLDERS = ("/var/run/postgresql", "/tmp")
"""Debian's default and upstream's."""
_ENVIRONMENT = {
    "host": "PGHOST",
    "port": "PGPORT",
    "user": "PGUSER",
    "password": "PGPASSWORD",
    "dbname": "PGDATABASE",
    "passfile": "PGPASSFILE",
    "service": "PGSERVICE",
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
}
_CARRIED = {
    "host", "hostaddr", "port", "user", "password", "dbname", "passfile", "service", "sslmode", "sslrootcert",
}  # fmt: skip
_TLS = {"disable": "disable", "allow": "disable", "prefer": "prefer", "require": "require"}
"""`allow` encrypts only where the server insists, which the server then says itself."""
_TLS_CHECKED = ("verify-ca", "verify-full")
_ROOT_FILE = Path(".postgresql/root.crt")
"""Where libpq looks in the home."""
_SYSTEM_ROOTS = "system"
_EXAMPLE = "write it like postgresql://user@host:5432/database or postgresql:///database?host=/var/run/postgresql"


def parse(url: str, environment: Mapping[str, str]) -> tuple[Target, Secret]:
    """The target that a URL names, and its password. Raises `UsageError` with what is wrong and an example."""
    words = _words(url)
    if service := words.get("service") or environment.get("PGSERVICE"):
        words = {**_service(service, environment), **words}
    for name, variable in _ENVIRONMENT.items():
        if variable in environment and environment[variable] != "":
            words.setdefault(name, environment[variable])
    _refuse_what_is_not_carried(url, words)
    user = words.get("user") or environment.get("USER") or environment.get("LOGNAME") or getpass.getuser()
    host = words.get("hostaddr") or words.get("host") or _default_host()
    port = _port(words.get("port"))
    database = words.get("dbname") or user
    # libpq looks a default socket up as `localhost`.
    who = ("localhost" if host in _SOCKET_FOLDERS else host, str(port), database, user)
    password = words.get("password") or _from_password_file(words.get("passfile"), environment, who)
    machine = "local" if host.startswith("/") or host in {"localhost", "127.0.0.1", "::1"} else "unknown"
    tls, tls_ca = _encryption(words, environment)
    target = Target(
        engine=ENGINE_NAME, host=host, port=port, user=user, database=database, machine=machine, tls=tls, tls_ca=tls_ca
    )
    return target, Secret(password)


def _words(url: str) -> dict[str, str]:
    try:
        words = conninfo_to_dict(url)
    except psycopg.Error as error:
        # The library quotes the URL with its password; only its reason is shown.
        raise UsageError(
            "This is not a URL of a PostgreSQL server.", found=_without_password(str(error).strip(), url), todo=_EXAMPLE
        ) from None
    return {name: str(value) for name, value in words.items() if value not in (None, "")}


def _without_password(message: str, url: str) -> str:
    for part in (url, url.partition("://")[2].partition("@")[0]):
        if part:
            message = message.replace(part, "…")
    return message


def _refuse_what_is_not_carried(url: str, words: Mapping[str, str]) -> None:
    if "," in words.get("host", "") or "," in words.get("port", "") or "," in words.get("hostaddr", ""):
        raise UsageError("The URL names several hosts.", todo="name the one server that is to be measured")
    if unknown := sorted(set(words) - _CARRIED):
        raise UsageError(
            "The URL holds parameters that would not be used: " + ", ".join(unknown) + ".",
            todo="leave them out; used are: " + ", ".join(sorted(_CARRIED)),
        )


def _encryption(words: Mapping[str, str], environment: Mapping[str, str]) -> tuple[str, str]:
    """Level and file of authorities, as libpq has them, but for one thing: without `sslmode` nothing is encrypted, as
    encryption is part of what is measured and should not depend on what the server offers."""
    mode = words.get("sslmode", "")
    if mode and mode not in _TLS and mode not in _TLS_CHECKED:
        known = ", ".join([*_TLS, *_TLS_CHECKED])
        raise UsageError(f"sslmode={mode} is not known.", todo=f"use one of {known}")
    roots = words.get("sslrootcert", "")
    home = environment.get("HOME")
    if not roots and home and (Path(home) / _ROOT_FILE).is_file():
        roots = str(Path(home) / _ROOT_FILE)
    if roots == _SYSTEM_ROOTS:
        if mode != "verify-full":
            raise UsageError(
                "sslrootcert=system goes with sslmode=verify-full only.",
                found=f"sslmode={mode or 'none'}",
                todo=_EXAMPLE,
            )
        return mode, ""
    # As libpq's manual says: with a file of authorities at hand, `require` checks the server too.
    if mode == "require" and roots:
        mode = "verify-ca"
    if mode not in _TLS_CHECKED:
        return _TLS.get(mode, ""), ""
    if not Path(roots).is_file():
        raise UsageError(
            f"sslmode={mode} needs the certificate of the authority that signed the server's.",
            found=roots or f"neither sslrootcert nor ~/{_ROOT_FILE}",
            todo="name its file with sslrootcert=, or the system's authorities with sslrootcert=system",
        )
    return mode, roots


def encryption(target: Target) -> str:
    """The words of the target's encryption for libpq; none when the target says nothing about it."""
    if not target.tls:
        return ""
    roots = {"sslrootcert": target.tls_ca or _SYSTEM_ROOTS} if target.tls in _TLS_CHECKED else {}
    return make_conninfo(sslmode=target.tls, **roots)


def _default_host() -> str:
    return next((folder for folder in _SOCKET_FOLDERS if any(Path(folder).glob(".s.PGSQL.*"))), _SOCKET_FOLDERS[0])


def _port(text: str | None) -> int:
    if text is None:
        return DEFAULT_PORT
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise UsageError("The port is not a number from 1 to 65535.", found=text, todo=_EXAMPLE)
    return int(text)


def _service(name: str, environment: Mapping[str, str]) -> dict[str, str]:
    candidates = []
    if given := environment.get("PGSERVICEFILE"):
        candidates.append(Path(given))
    if home := environment.get("HOME"):
        candidates.append(Path(home) / ".pg_service.conf")
    if folder := environment.get("PGSYSCONFDIR"):
        candidates.append(Path(folder) / "pg_service.conf")
    for path in candidates:
        if path.is_file():
            words = service_words(path.read_text(encoding="utf-8", errors="replace"), name, str(path))
            if words is not None:
                return words
    looked = ", ".join(map(str, candidates)) or "no service file"
    raise UsageError(
        f"There is no service {name!r}.", found=f"looked in: {looked}", todo="check PGSERVICE, PGSERVICEFILE"
    )


def service_words(text: str, name: str, path: str) -> dict[str, str] | None:
    """The words of one section of a service file; None when it has no such section."""
    parser = configparser.ConfigParser(interpolation=None, delimiters=("=",), comment_prefixes=("#",), strict=False)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise UsageError(f"The service file {path} cannot be read.", found=str(error).splitlines()[0]) from None
    return dict(parser[name]) if parser.has_section(name) else None


def _from_password_file(
    given: str | None, environment: Mapping[str, str], who: tuple[str, str, str, str]
) -> str | None:
    home = environment.get("HOME")
    path = Path(given) if given else (Path(home) / ".pgpass" if home else None)
    if path is None or not path.is_file():
        return None
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        # libpq ignores such a file with a warning; a password that is silently not used is a riddle.
        raise UsageError(
            f"The password file {path} can be read by others, so it is not used.", todo=f"chmod 600 {path}"
        )
    return password_of(path.read_text(encoding="utf-8", errors="replace"), who)


def password_of(text: str, who: tuple[str, str, str, str]) -> str | None:
    """The password of the first line of a password file that fits `who`: host, port, database, user.

    `*` fits all; a backslash makes the next character literal.
    """
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        fields = _split(line)
        if len(fields) >= 5 and all(field in ("*", value) for field, value in zip(fields, who, strict=False)):
            return fields[4]
    return None


def _split(line: str) -> list[str]:
    fields, field, characters = [], "", iter(line)
    for character in characters:
        if character == "\\":
            field += next(characters, "")
        elif character == ":":
            fields.append(field)
            field = ""
        else:
            field += character
    return [*fields, field]
