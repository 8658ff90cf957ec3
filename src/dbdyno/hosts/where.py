"""Which machine is meant: this one, another one over SSH, a copy of its files, or none."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path

from dbdyno.hosts.ssh import SCHEME, SshHost, parse_ssh
from dbdyno.model.errors import UsageError
from dbdyno.model.target import Target

LOCAL = "local"
UNKNOWN = "unknown"


@dataclass(frozen=True)
class HostAt:
    """Where the machine is: `root` of its files, or `ssh`; neither: it is not examined."""

    label: str
    root: Path | None = None
    ssh: SshHost | None = None

    @property
    def examined(self) -> bool:
        return self.root is not None or self.ssh is not None

    @property
    def live(self) -> bool:
        """Whether it is the machine that we run on."""
        return self.root == Path("/")


def find_host(text: str | None, target: Target | None) -> HostAt:
    """The machine that `--host` means; without it the one that the target's file names, or this one when the server is
    reached through it. Raises `UsageError`."""
    words = text if text is not None else _of_target(target)
    if words == LOCAL:
        return HostAt(label=LOCAL, root=Path("/"))
    if words in ("", UNKNOWN, "none"):
        return HostAt(label="")
    if words.startswith(SCHEME):
        return HostAt(label=words, ssh=parse_ssh(words))
    if words.startswith(("/", "./", "../")):
        if not Path(words).is_dir():
            raise UsageError(f"There is no folder {words} for --host.", todo="give local, ssh://user@host, or a folder")
        return HostAt(label=words, root=Path(words))
    raise UsageError(
        "--host names no machine.", found=repr(words), todo="give local, ssh://user@host, unknown, or a folder"
    )


def find_live_host(text: str | None, target: Target) -> HostAt:
    """As `find_host`, for what is sampled: a copy does not move. Raises `UsageError`."""
    host = find_host(text, target)
    if text is None and host.root is not None and not host.live:
        return HostAt(label="")
    if host.root is not None and not host.live:
        raise UsageError(
            "A copy of a machine's files cannot be sampled.",
            found=host.label,
            todo="give local, ssh://user@host, or unknown",
        )
    return host


def _of_target(target: Target | None) -> str:
    if target is None:
        return UNKNOWN
    return target.machine if target.machine != LOCAL or is_near(target) else UNKNOWN


def is_near(target: Target) -> bool:
    """Whether the server is reached through this machine alone."""
    host = target.host.lower()
    if target.sandbox or host.startswith("/") or host in ("", "localhost", "::1"):
        return True
    return host.startswith("127.") or host == socket.gethostname().lower()
