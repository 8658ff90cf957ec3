"""The way to another machine: the system's OpenSSH, with the user's own configuration, keys and jump hosts.

It never asks anything, and says in words which way it failed: SSH has one exit status for all failures.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from dbdyno.model.errors import HostError, UsageError

SCHEME = "ssh://"
_USER_HOST = re.compile(r"(?:(?P<user>[A-Za-z0-9_.][A-Za-z0-9_.@+-]*)@)?(?P<host>[A-Za-z0-9_][A-Za-z0-9_.-]*|\[[0-9A-Fa-f:.%]+\])(?::(?P<port>\d{1,5}))?/?")  # fmt: skip # noqa: E501
_OPTIONS = {
    "BatchMode": "yes",
    "LogLevel": "ERROR",
    "ServerAliveInterval": "5",
    "ServerAliveCountMax": "2",
    # A connection that the user holds open is used, but ours never stays behind as one.
    "ControlMaster": "no",
    "ClearAllForwardings": "yes",
    "RemoteCommand": "none",
}
SHELL = "exec sh"
"""Whatever the login shell is, it can do this; what follows is read by a POSIX shell."""


@dataclass(frozen=True)
class SshHost:
    user: str
    host: str
    port: str

    @property
    def label(self) -> str:
        user = f"{self.user}@" if self.user else ""
        return f"{SCHEME}{user}{self.host}" + (f":{self.port}" if self.port else "")

    def command(self, connect_s: int, there: str = SHELL) -> list[str]:
        """A command line that asks for nothing. `there` is what the other machine runs."""
        words = ["ssh", "-T", "-a", "-x", "-o", f"ConnectTimeout={connect_s}"]
        for name, value in _OPTIONS.items():
            words += ["-o", f"{name}={value}"]
        words += ["-p", self.port] if self.port else []
        words += ["-l", self.user] if self.user else []
        return [*words, "--", self.host.strip("[]"), there]

    def by_hand(self, connect_s: int) -> str:
        """What to try in a terminal."""
        return shlex.join(self.command(connect_s, "true"))


def parse_ssh(url: str) -> SshHost:
    """`ssh://user@host:port`. Raises `UsageError`; a password in it is refused without repeating it."""
    text = url.removeprefix(SCHEME)
    if ":" in text.partition("@")[0] and "@" in text:
        raise UsageError("A password does not belong into an ssh:// URL.", todo="use a key, or ssh-agent")
    match = _USER_HOST.fullmatch(text)
    if match is None:
        raise UsageError("The ssh:// URL cannot be understood.", found=repr(url), todo="write ssh://user@host:port")
    if match["port"] and not 0 < int(match["port"]) < 65536:
        raise UsageError("There is no such port.", found=match["port"], todo="write ssh://user@host:port")
    return SshHost(user=match["user"] or "", host=match["host"], port=match["port"] or "")


def ssh_failed(host: SshHost, code: int | None, words: str, got: int) -> HostError:
    """The way in which SSH failed, from its words. `got` bytes came before."""
    found = " ".join(words.split())[-500:] or f"exit status {code}"
    for part, what, todo in _FAILURES:
        if part.lower() in words.lower():
            return HostError(f"{what}: {host.host}.", found=found, todo=todo)
    if code == 255 or code is None or code < 0:
        return HostError(f"SSH to {host.host} failed.", found=found, todo=f"try it by hand: ssh {host.host} true")
    return HostError(
        f"{host.host} let us in, but its shell did not run the script to its end.",
        found=f"{found}; {got} bytes came",
        todo="the account needs a POSIX shell and no forced command; or use dyno collect --script there",
    )


_FAILURES: tuple[tuple[str, str, str], ...] = (
    ("REMOTE HOST IDENTIFICATION HAS CHANGED", "The host's key is not the one that is known",
     "find out why before you go on; then ssh-keygen -R HOST"),
    ("Host key verification failed", "The host's key is not known yet", "connect once by hand and compare the key"),
    ("Permission denied", "SSH refuses the user or the key", "check the user; load the key into ssh-agent"),
    ("Too many authentication failures", "SSH refuses the user or the key", "name one key (IdentityFile)"),
    ("Could not resolve hostname", "The host's name is not known", "check the name after ssh://"),
    ("Connection refused", "Nothing listens for SSH there", "check the port, and that sshd runs"),
    ("timed out", "The host does not answer", "check the address and the way there (firewall, VPN)"),
    ("No route to host", "There is no way to the host", "check the network"),
    ("Network is unreachable", "There is no way to the host", "check the network"),
    ("kex_exchange_identification", "The host closed the connection at once", "see sshd's log there (limits)"),
    ("Connection closed by", "The host closed the connection", "see sshd's log there"),
    ("Connection reset by", "The host closed the connection", "see sshd's log there"),
    ("Bad owner or permissions", "ssh does not accept its own configuration", "chmod 600 ~/.ssh/config"),
    ("no matching", "The two sides have no algorithm in common", "update the older one of them"),
    ("This account is currently not available", "The account has no shell", "use an account with a shell"),
)  # fmt: skip
