"""One server that we may talk to, and what we may do there."""

from __future__ import annotations

import enum

from dbdyno.model.errors import PermissionRefused
from dbdyno.model.record import Record


class Permission(enum.StrEnum):
    """What a target may allow beyond reading."""

    LOAD = "load"
    TUNE = "tune"
    CRASH = "crash"


class Secret:
    """A password. It never prints, never serialises; `reveal` is called only where it is handed to a server."""

    __slots__ = ("_value",)

    def __init__(self, value: str | None) -> None:
        self._value = value

    def reveal(self) -> str | None:
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)" if self._value else "Secret(none)"

    __str__ = __repr__


class Target(Record, frozen=True, kw_only=True):
    """A server, how to reach it, and what is allowed. The password is kept apart (see `Secret`)."""

    engine: str
    """Name of the engine's folder, which is also the driver's dialect unless the engine says otherwise."""
    host: str
    """A name, an address, or a Unix socket (begins with `/`): its folder, for some dialects also its file."""
    port: int
    user: str
    database: str
    allow: frozenset[Permission] = frozenset()
    sandbox: str | None = None
    """Name of the sandbox that this server is, if it is one of ours."""
    machine: str = "local"
    """The machine under the server: `local`, `ssh://…`, or `unknown`."""
    reload_command: str | None = None
    restart_command: str | None = None
    """Shell commands that the user's target file gives for a server that is not a sandbox."""
    scheme: str = ""
    """How the user, or the sandbox, calls the product: the URL's scheme; empty: as the engine is called."""
    tls: str = ""
    """Encryption: `disable` (also when empty), `prefer`, `require` (encrypted, the server unchecked), `verify-ca` or
    `verify-full` (its name too). Unix sockets are never encrypted."""
    tls_ca: str = ""
    """Path of the authorities' certificates (PEM); empty: those of the system."""

    @property
    def label(self) -> str:
        """How the target is called in words and records; it holds no secret."""
        product = self.scheme or self.engine
        if self.sandbox:
            return f"sandbox:{product}/{self.sandbox}"
        return f"{product}://{self.user}@{self.host}:{self.port}/{self.database}"

    def require(self, permission: Permission, to: str) -> None:
        """Raises `PermissionRefused` unless the target allows it. `to` says what for: "load a dataset"."""
        if permission not in self.allow:
            allowed = ", ".join(sorted(self.allow)) or "reading only"
            raise PermissionRefused(
                f"{self.label} does not allow us to {to}.",
                found=f"allowed: {allowed}",
                todo=f'add --allow {permission} (or allow = ["{permission}"] in the target file) if you mean it',
            )
