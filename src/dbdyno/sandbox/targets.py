"""From what the user calls a target to the server itself: a URL, `sandbox:…`, or a target file.

A target file is TOML:

    url = "<scheme>://user@host:port/database"
    allow = ["load", "tune"]               # beyond reading
    password_env = "DYNO_PASSWORD"         # or password_file = "/path"
    reload_command = "systemctl reload …"  # as the shell takes them
    restart_command = "systemctl restart …"
    machine = "local"                      # or ssh://…, unknown
"""

from __future__ import annotations

import contextlib
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno.engines.registry import checkable_named, engine_named, products, whole
from dbdyno.model.clock import Clock
from dbdyno.model.engine import Checkable, Engine
from dbdyno.model.errors import DriverError, PermissionRefused, SandboxError, UsageError
from dbdyno.model.home import Home
from dbdyno.model.target import Permission, Secret, Target
from dbdyno.sandbox.options import SCHEME, SandboxUrl, parse_url
from dbdyno.sandbox.sandbox import Sandbox, create, exists, open_sandbox

LOG_LINES = 12
_SERVER_IN_TROUBLE = ("connect", "disk_full")
"""Codes of driver errors after which a server cannot be trusted to stop in an orderly way."""
_NO_LOAD = {"server.in_recovery": "follows another server", "server.read_only": "is set to be read only"}
"""Facts that forbid a load whatever is allowed."""
_FILE_WORDS = {
    "url": str,
    "allow": list,
    "password_env": str,
    "password_file": str,
    "reload_command": str,
    "restart_command": str,
    "machine": str,
}


@dataclass(frozen=True)
class Resolved:
    """A target that was found. That of a sandbox is right once it is served (its port may change at each start)."""

    target: Target
    secret: Secret
    kind: Checkable
    """The engine, of which nothing more is known than that it can be checked."""
    sandbox: Sandbox | None = None

    @property
    def engine(self) -> Engine:
        """The engine, for all that is more than a check. Raises `UsageError` when it can only be checked."""
        return whole(self.kind)

    def require_load(self, to: str) -> None:
        """Raises `PermissionRefused` unless load is allowed and the server may take it: one that follows another server
        would no longer be its copy. `to` says what for: "load a dataset"."""
        engine = self.engine
        self.target.require(Permission.LOAD, to)
        if self.sandbox is not None:
            return
        session = engine.connect(self.target, self.secret)
        try:
            facts = {fact.name: fact.value for fact in session.facts()}
        finally:
            session.close()
        for name, what in _NO_LOAD.items():
            if facts.get(name) is True:
                raise PermissionRefused(
                    f"{self.target.label} {what}, so we do not {to}.", todo="name the primary, or a server for tests"
                )

    @contextlib.contextmanager
    def serving(self) -> Iterator[Resolved]:
        """Makes sure that the server is there: takes a sandbox's lock and starts it unless it runs; stops it at the
        end if it was started here. For other servers it does nothing."""
        if self.sandbox is None:
            yield self
            return
        with self.sandbox.held():
            if not self.sandbox.running():
                self.sandbox.start(keep=False)
            try:
                yield Resolved(self.sandbox.target, self.sandbox.secret, self.kind, self.sandbox)
            except DriverError as error:
                if error.code not in _SERVER_IN_TROUBLE:
                    raise
                log = self.sandbox.log_tail(LOG_LINES)
                if not self.sandbox.state.keep:
                    # On a full disk it would try its last checkpoint for minutes. It recovers next time.
                    self.sandbox.stop("immediate")
                if error.code == "disk_full":
                    raise
                # The connection broke; why it did stands in the server's own log, which is ours to read.
                raise DriverError(
                    error.what, found=f"the end of the server's log:\n{log}", todo=error.todo, code=error.code
                ) from error

    @contextlib.contextmanager
    def observing(self) -> Iterator[Resolved]:
        """For those who only look: a sandbox that runs is looked at while another dyno works on it; one that does not
        run is started, and stopped at the end."""
        if self.sandbox is None or not self.sandbox.running():
            with self.serving() as served:
                yield served
        else:
            yield Resolved(self.sandbox.target, self.sandbox.secret, self.kind, self.sandbox)


def permissions(words: Iterable[str]) -> frozenset[Permission]:
    """Permissions by name. Raises `UsageError` for what is not one."""
    known = {str(one): one for one in Permission}
    if unknown := sorted({word for word in words if word not in known}):
        raise UsageError(
            "There is no permission " + ", ".join(map(repr, unknown)) + ".", todo="use: " + ", ".join(sorted(known))
        )
    return frozenset(known[word] for word in words)


def resolve(
    text: str,
    *,
    home: Home,
    allow: Iterable[str] = (),
    environment: Mapping[str, str],
    clock: Clock,
    on_note: Callable[[str], None] = lambda _: None,
    make: bool = True,
) -> Resolved:
    """Finds the server that `text` means; makes a sandbox that does not exist yet (it is not started).

    Raises `UsageError` for words that cannot be understood, `SandboxError` when a sandbox cannot be made, or may not
    (`make` false: for those who only look at what is there).
    `on_note` gets what a new sandbox asked for and the machine could not give.
    """
    allowed = permissions(list(allow))

    def sandbox_of(url: SandboxUrl) -> Resolved:
        if not make:
            _require_there(url, home)
        return _sandbox(url, home, clock, on_note)

    if text.startswith(SCHEME):
        return sandbox_of(parse_url(text))
    if "://" in text:
        return _server(text, allowed, environment)
    if text.endswith(".toml") or Path(text).is_file():
        return _file(Path(text), allowed, environment, sandbox_of)
    urls = ", ".join(f"{product}://user@host/database" for product in products(whole=False))
    sandboxes = ", ".join(SCHEME + product for product in products(whole=True))
    raise UsageError(
        "This names no server.",
        found=repr(text),
        todo=f"give a URL ({urls}), a sandbox ({sandboxes}), or a target file (*.toml)",
    )


def _require_there(url: SandboxUrl, home: Home) -> None:
    if exists(home, url.name):
        return
    there = ", ".join(sorted(path.name for path in home.sandboxes.glob("*") if exists(home, path.name)))
    raise SandboxError(
        f"There is no sandbox {url.name!r}, and one that does not exist is not made to be looked at.",
        found=f"there are: {there}" if there else "there is none at all",
        todo=f"name one of them (name=…), or make it: dyno sandbox create {SCHEME}{url.engine}?name={url.name}",
    )


def _sandbox(url: SandboxUrl, home: Home, clock: Clock, on_note: Callable[[str], None]) -> Resolved:
    engine = engine_named(url.engine)
    if exists(home, url.name):
        sandbox = open_sandbox(home, url.engine, url.name, clock=clock)
        _compare(sandbox, url)
        for note in sandbox.notes:
            on_note(note)
    else:
        on_note(f"there is no sandbox {url.name!r} yet: making it")
        sandbox = create(home, engine, url.name, url.options, clock=clock, on_note=on_note)
    return Resolved(sandbox.target, sandbox.secret, engine, sandbox)


def _compare(sandbox: Sandbox, url: SandboxUrl) -> None:
    """What is asked for now must be what was asked for when the sandbox was made."""
    wished = sandbox.record.wished or sandbox.record.options
    different = [name for name in url.given if getattr(wished, name) != getattr(url.options, name)]
    if different:
        has = ", ".join(f"{name}={getattr(wished, name)}" for name in different)
        asked = ", ".join(f"{name}={getattr(url.options, name)}" for name in different)
        raise UsageError(
            f"The sandbox {url.name!r} exists and was made with other options.",
            found=f"it has {has}; asked for was {asked}",
            todo=f"choose another name (name=…), or remove it first: dyno sandbox rm {url.name}",
        )


def _server(text: str, allowed: frozenset[Permission], environment: Mapping[str, str]) -> Resolved:
    scheme, inner, text = _inner_engine(text)
    engine = checkable_named(f"{scheme}+{inner}" if inner else scheme)
    target, secret = engine.target(text, environment)
    return Resolved(_changed(target, allow=allowed, scheme=scheme), secret, engine)


def _inner_engine(text: str) -> tuple[str, str, str]:
    """Scheme, the parameter `engine` (of several engines in one server), and the URL without that parameter."""
    address, question, query = text.partition("?")
    words = query.split("&") if question else []
    inner = [word.removeprefix("engine=") for word in words if word.startswith("engine=")]
    rest = "&".join(word for word in words if not word.startswith("engine="))
    return address.partition("://")[0], inner[-1] if inner else "", address + (f"?{rest}" if rest else "")


def _changed(target: Target, **changes: object) -> Target:
    fields = {name: getattr(target, name) for name in Target.__struct_fields__}
    return Target(**{**fields, **changes})


def _file(
    path: Path,
    allowed: frozenset[Permission],
    environment: Mapping[str, str],
    sandbox_of: Callable[[SandboxUrl], Resolved],
) -> Resolved:
    try:
        words = parse_file(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise UsageError(f"The target file {path} cannot be read.", found=error.strerror or str(error)) from None
    except UnicodeDecodeError:
        raise UsageError(f"The target file {path} is not a text in UTF-8.") from None
    url: str = words["url"]
    allowed |= permissions(words.get("allow", []))
    if url.startswith(SCHEME):
        return sandbox_of(parse_url(url))
    found = _server(url, allowed, environment)
    changes = {name: words[name] for name in ("reload_command", "restart_command", "machine") if name in words}
    secret = _password(words, path, environment) or found.secret
    return Resolved(_changed(found.target, **changes), secret, found.kind)


def parse_file(text: str, path: str) -> dict[str, Any]:
    """The words of a target file. Raises `UsageError` for unknown ones and wrong types."""
    try:
        words = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"The target file {path} is not TOML.", found=str(error)) from None
    if unknown := sorted(set(words) - set(_FILE_WORDS)):
        raise UsageError(
            f"The target file {path} holds words that mean nothing: {', '.join(unknown)}.",
            todo="use: " + ", ".join(_FILE_WORDS),
        )
    for name, value in words.items():
        if not isinstance(value, _FILE_WORDS[name]) or (name == "allow" and not all(isinstance(v, str) for v in value)):
            raise UsageError(
                f"In the target file {path}, {name} has the wrong type.",
                found=repr(value),
                todo='allow = ["load", "tune"]' if name == "allow" else f'{name} = "…"',
            )
    if "url" not in words:
        raise UsageError(f"The target file {path} has no url.", todo='url = "…"')
    if "password_env" in words and "password_file" in words:
        raise UsageError(f"The target file {path} has both password_env and password_file.", todo="keep one")
    return words


def _password(words: Mapping[str, Any], path: Path, environment: Mapping[str, str]) -> Secret | None:
    if name := words.get("password_env"):
        if name not in environment:
            raise UsageError(f"The variable {name}, which {path} names for the password, is not set.")
        return Secret(environment[name])
    if file := words.get("password_file"):
        where = (path.parent / file).expanduser()
        try:
            return Secret(where.read_text(encoding="utf-8").rstrip("\r\n"))
        except OSError as error:
            raise UsageError(
                f"The password file {where}, which {path} names, cannot be read.", found=error.strerror or str(error)
            ) from None
    return None
