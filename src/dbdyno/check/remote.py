"""The files of another machine, fetched by one shell script over one SSH connection; nothing is installed there.

The same script makes the dump of machines that we cannot reach (`dyno collect --script`). Its answer is a stream:
a line with a random token and a word for each file, then the file. Files of /proc and /sys say that they are empty, so
that an archiver would take nothing; they are read with `head`, which also bounds them.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from dbdyno.check.limited import Limited
from dbdyno.hosts.paths import LINKS, PATTERNS
from dbdyno.model.errors import HostError, UsageError

UNREADABLE = ".unreadable"
FILE_BYTES_MAX = 1 << 20
STREAM_BYTES_MAX = 64 << 20
_USER_HOST = re.compile(r"(?:(?P<user>[A-Za-z0-9_.][A-Za-z0-9_.@+-]*)@)?(?P<host>[A-Za-z0-9_][A-Za-z0-9_.-]*|\[[0-9A-Fa-f:.%]+\])(?::(?P<port>\d{1,5}))?/?")  # fmt: skip # noqa: E501

_SCRIPT = r"""
LC_ALL=C; export LC_ALL
cd / || exit 3
T={token}
P={prefix}
one() {{
  printf '%s file %s%s\n' "$T" "$P" "$1"
  head -c {bytes} "$1" 2>/dev/null && printf '\n' || printf '\n%s denied %s%s\n' "$T" "$P" "$1"
}}
files() {{ for f in "$@"; do [ -f "$f" ] && one "$f"; done; return 0; }}
links() {{ for f in "$@"; do [ -L "$f" ] && printf '%s link %s%s %s\n' "$T" "$P" "$f" "$(readlink "$f")"; done
  return 0; }}
emit() {{ n=$1; shift; printf '%s file %s\n' "$T" "$n"; "$@" 2>/dev/null | head -c 67108864; printf '\n'; }}
printf '%s begin 1\n' "$T"
{body}
printf '%s end\n' "$T"
"""


@dataclass(frozen=True)
class SshHost:
    user: str
    host: str
    port: str

    def command(self, connect_s: int) -> list[str]:
        """System OpenSSH, never asking anything; the remote shell reads a script."""
        words = ["ssh", "-T", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={connect_s}", "-o", "LogLevel=ERROR",
                 "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=2"]  # fmt: skip
        words += ["-p", self.port] if self.port else []
        words += ["-l", self.user] if self.user else []
        return [*words, "--", self.host.strip("[]"), "sh", "-s"]


def parse_ssh(url: str) -> SshHost:
    """`ssh://user@host:port`. Raises `UsageError`; a password in it is refused without repeating it."""
    text = url.removeprefix("ssh://")
    if ":" in text.partition("@")[0] and "@" in text:
        raise UsageError("A password does not belong into an ssh:// URL.", todo="use a key, or ssh-agent")
    match = _USER_HOST.fullmatch(text)
    if match is None:
        raise UsageError("The ssh:// URL cannot be understood.", found=repr(url), todo="write ssh://user@host:port")
    return SshHost(user=match["user"] or "", host=match["host"], port=match["port"] or "")


@dataclass
class Fetched:
    """Files by path below the root, links with where they point to, and what could not be read."""

    files: dict[str, bytes] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    denied: list[str] = field(default_factory=list)

    def write_below(self, root: Path) -> None:
        """Makes the tree, and beside it the list of what could not be read, as `hosts.tree` expects it."""
        for path, content in self.files.items():
            if (file := _inside(root, path)) is not None:
                with contextlib.suppress(OSError):
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(content)
        reasons = [path + "\tPermission denied\n" for path in self.denied if "\n" not in path and "\t" not in path]
        (root / UNREADABLE).write_text("".join(reasons), encoding="utf-8", errors="replace")
        # Last, so that nothing is written through a link.
        for path, to in self.links.items():
            if (file := _inside(root, path)) is not None and not file.exists():
                with contextlib.suppress(OSError):
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.symlink_to(to if not to.startswith("/") else str(root) + to)


def _inside(root: Path, path: str) -> Path | None:
    parts = PurePosixPath(path.lstrip("/")).parts
    return None if not parts or ".." in parts or "\0" in path else root.joinpath(*parts)


@dataclass(frozen=True)
class Fetch:
    """What to fetch, and the token that ends files: a random word that no file holds."""

    token: str
    pid: str = ""

    def script(self, prefix: str = "", extra: Sequence[str] = ()) -> str:
        """The shell script. `extra` are fragments of engines, which call `emit NAME COMMAND…`."""
        assert self.token.isalnum(), "the token goes into a shell script"
        patterns = [one.replace("{pid}", self.pid) for one in PATTERNS if self.pid or "{pid}" not in one]
        links = [one.replace("{pid}", self.pid) for one in LINKS if self.pid or "{pid}" not in one]
        body = [f"files {_globs(patterns)}", f"links {_globs(links)}" if links else "", *extra]
        return _SCRIPT.format(
            token=self.token, prefix=shlex.quote(prefix), bytes=FILE_BYTES_MAX, body="\n".join(body)
        ).lstrip()

    def over_ssh(self, host: SshHost, timeout_s: float) -> Fetched:
        """Runs the script there. Raises `HostError` that says which way SSH failed."""
        command = host.command(max(1, int(timeout_s)))
        try:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        except FileNotFoundError:
            raise HostError("There is no ssh on this machine.", todo="install the OpenSSH client") from None
        try:
            out, words = Limited(lambda: _talk(process, self.script().encode())).result(timeout_s) or (b"", b"")
        except TimeoutError:
            raise HostError(
                f"{host.host} did not answer within {timeout_s:g} s.",
                todo="try it by hand: " + shlex.join([*command[:-2], "true"]) + "; or give it longer with --timeout",
            ) from None
        finally:
            process.kill()
            process.wait()
        if f"{self.token} end".encode() not in out[-4096:]:
            raise ssh_failed(host, process.returncode, words.decode(errors="replace"), len(out))
        return parse_stream(out, self.token)


def _talk(process: subprocess.Popen[bytes], script: bytes) -> tuple[bytes, bytes]:
    """Bounded: a machine that sends for ever is cut off."""
    assert process.stdin is not None, "made with a pipe"
    assert process.stdout is not None, "made with a pipe"
    assert process.stderr is not None, "made with a pipe"
    errors = Limited(process.stderr.read)
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(script)
        process.stdin.close()
    out = process.stdout.read(STREAM_BYTES_MAX + 1)
    if len(out) > STREAM_BYTES_MAX:
        process.kill()
    process.wait()
    return out, errors.result(5.0) or b""


def ssh_failed(host: SshHost, code: int, words: str, got: int) -> HostError:
    """The way in which SSH failed, from its words: it has one exit status for all."""
    found = " ".join(words.split())[-500:] or f"exit status {code}"
    if got > STREAM_BYTES_MAX:
        return HostError(f"{host.host} sent more than {STREAM_BYTES_MAX >> 20} MiB.", todo="see what its shell prints")
    for part, what, todo in _FAILURES:
        if part.lower() in words.lower():
            return HostError(f"{what}: {host.host}.", found=found, todo=todo)
    if code == 255:
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


def parse_stream(stream: bytes, token: str) -> Fetched:
    """The files of the script's answer; what is cut off at the end is left out. Words before the first token (a
    greeting of the login shell) are passed over."""
    found = Fetched()
    mark = token.encode() + b" "
    for part in stream.replace(b"\r\n", b"\n").split(mark)[1:]:
        line, newline, content = part.partition(b"\n")
        if not newline:
            continue
        word, _, rest = line.decode(errors="replace").partition(" ")
        if word == "file":
            found.files[rest] = content.removesuffix(b"\n")
        elif word == "denied":
            # Its beginning was announced, and then the reading failed.
            found.files.pop(rest, None)
            found.denied.append(rest)
        elif word == "link":
            path, _, to = rest.partition(" ")
            found.links[path] = to
    return found


def _globs(patterns: Sequence[str]) -> str:
    """Words for a shell that may expand * and ?; everything else is quoted."""
    return " ".join("".join(part if part in "*?" else shlex.quote(part) for part in re.split(r"([*?])", one) if part)
                    for one in patterns)  # fmt: skip
