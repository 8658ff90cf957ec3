"""The files of another machine, fetched by one shell script over one SSH connection; nothing is installed there.

The same script makes the dump of machines that we cannot reach (`dyno collect --script`). Its answer is a stream:
a line with a random token and a word for each file, then the file. Files of /proc and /sys say that they are empty, so
that an archiver would take nothing; they are read with `head`, which also bounds them, and the many short ones by the
shell itself: a program for each would take longer than all the rest. (Not those of /proc/sys, which the kernel gives
only in one piece, and a shell reads letter by letter.)
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
from dbdyno.hosts.ssh import SshHost, ssh_failed
from dbdyno.model.errors import HostError

UNREADABLE = ".unreadable"
FILE_BYTES_MAX = 1 << 20
STREAM_BYTES_MAX = 64 << 20

_SCRIPT = r"""
LC_ALL=C; export LC_ALL
cd / || exit 3
T={token}
P={prefix}
one() {{
  printf '%s file %s%s\n' "$T" "$P" "$1"
  case $1 in proc/[0-9]*/stat|sys/*) lines "$1" && printf '\n' && return;; esac
  head -c {bytes} "$1" 2>/dev/null && printf '\n' || printf '\n%s denied %s%s\n' "$T" "$P" "$1"
}}
lines() {{ [ -r "$1" ] || return; l=; s=
  {{ while IFS= read -r l; do printf '%s\n' "$l"; s=1; done; printf %s "$l"; }} 2>/dev/null <"$1"; [ -n "$s$l" ]; }}
files() {{ for f in "$@"; do [ -f "$f" ] && one "$f"; done; return 0; }}
links() {{ for f in "$@"; do [ -L "$f" ] && printf '%s link %s%s %s\n' "$T" "$P" "$f" "$(readlink "$f")"; done
  return 0; }}
emit() {{ n=$1; shift; printf '%s file %s\n' "$T" "$n"; "$@" 2>/dev/null | head -c 67108864; printf '\n'; }}
printf '%s begin 1\n' "$T"
{body}
printf '%s end\n' "$T"
"""


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
        connect_s = max(1, int(timeout_s))
        try:
            process = subprocess.Popen(
                host.command(connect_s), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        except FileNotFoundError:
            raise HostError("There is no ssh on this machine.", todo="install the OpenSSH client") from None
        try:
            out, words = Limited(lambda: _talk(process, self.script().encode())).result(timeout_s) or (b"", b"")
        except TimeoutError:
            raise HostError(
                f"{host.host} did not answer within {timeout_s:g} s.",
                todo=f"try it by hand: {host.by_hand(connect_s)}; or give it longer with --timeout",
            ) from None
        finally:
            process.kill()
            process.wait()
        if f"{self.token} end".encode() not in out[-4096:]:
            if len(out) > STREAM_BYTES_MAX:
                todo = "see what its shell prints"
                raise HostError(f"{host.host} sent more than {STREAM_BYTES_MAX >> 20} MiB.", todo=todo)
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
