"""One long-lived POSIX shell on another machine: it is sent small commands and answers framed text.

Only `sh` and `cat` are needed there. Each answer ends with a line of a random token, so that what a login shell prints
by itself is passed over, and a file may hold anything. Files of many processes are read by the shell itself, without a
program for each; a zero byte is lost in these.
"""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import shlex
import subprocess
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import IO

from dbdyno.hosts.ssh import SshHost, ssh_failed
from dbdyno.model.clock import Clock
from dbdyno.model.errors import HostError

FILE, NAMES, KIND, LINK = "f", "d", "t", "l"
"""What can be asked of a path: its content, the names in a folder, what it is, where it leads to."""
ANSWER_BYTES_MAX = 32 << 20
_WORDS_BYTES_MAX = 4096
_CHUNK_BYTES = 1 << 16
_ALIKE_MIN = 4
"""So many files that differ in one folder's name are read by the shell itself."""
_NAMES_A_LINE = 100

_SCRIPT = r"""
exec 2>/dev/null
LC_ALL=C; export LC_ALL
T={token}
e() {{ printf '\n%s %s %s\n' "$T" "$1" "$2"; }}
w() {{ if [ -d "$1" ]; then e {isdir} "$1"; elif [ ! -e "$1" ]; then e {noent} "$1"
  elif {{ :; }} <"$1"; then case $1 in /proc/[0-9]*) e {acces} "$1";; *) e {io} "$1";; esac
  else e {acces} "$1"; fi; }}
f() {{ for q in "$@"; do if cat "$q"; then e 0 "$q"; else w "$q"; fi; done; }}
g() {{ a=$1; b=$2; shift 2; for n in "$@"; do p=$a$n$b; l=; s=
  [ -r "$p" ] || {{ w "$p"; continue; }}
  {{ while IFS= read -r l; do printf '%s\n' "$l"; s=1; done; printf %s "$l"; }} <"$p"
  if [ -n "$s$l" ]; then e 0 "$p"; else f "$p"; fi; done; }}
d() {{ for p in "$@"; do if [ -d "$p" ] && [ -r "$p" ] && [ -x "$p" ]; then
  for n in "$p"/*; do printf '%s\n' "${{n##*/}}"; done; e 0 "$p"
  elif [ -d "$p" ]; then e {acces} "$p"; elif [ -e "$p" ]; then e {notdir} "$p"; else e {noent} "$p"; fi; done; }}
t() {{ for p in "$@"; do if [ -d "$p" ]; then printf d; e 0 "$p"; elif [ -e "$p" ]; then printf f; e 0 "$p"
  else e {noent} "$p"; fi; done; }}
l() {{ for p in "$@"; do if [ ! -L "$p" ]; then e {noent} "$p"; elif (CDPATH=; cd -P "$p" && pwd -P); then e 0 "$p"
  else e {io} "$p"; fi; done; }}
cd /
printf '\n%s\n' "$$"; e 0 pid
e end 0
"""


@dataclass(frozen=True)
class Ask:
    """What is asked of a path, which is absolute."""

    what: str
    path: str


@dataclass(frozen=True)
class Answer:
    content: bytes = b""
    error: int = 0
    """As in `errno`; 0: none."""


class Shell:
    """The connection. Every question has a time limit; after a failure it is of no more use. Safe from several threads,
    one of which asks at a time."""

    def __init__(
        self, host: SshHost, *, clock: Clock, token: str, timeout_s: float, command: Sequence[str] = ()
    ) -> None:
        """Connects. `token` is a random word; `command` replaces ssh in tests. Raises `HostError` that says which way
        it failed."""
        assert token.isalnum(), "the token goes into a shell script"
        self._host = host
        self._clock = clock
        self._token = b"\n" + token.encode() + b" "
        self._lock = threading.Lock()
        self._batches = 0
        self._words = b""
        self.sent_bytes = 0
        self.received_bytes = 0
        self.lost: HostError | None = None
        words = list(command) or host.command(max(1, int(timeout_s)))
        try:
            # A session of its own: Ctrl-C is for us, and we end it in order.
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
            )
        except FileNotFoundError:
            raise HostError("There is no ssh on this machine.", todo="install the OpenSSH client") from None
        for pipe in self._pipes():
            os.set_blocking(pipe.fileno(), False)
        script = _SCRIPT.format(
            token=token, isdir=errno.EISDIR, noent=errno.ENOENT, acces=errno.EACCES, io=errno.EIO, notdir=errno.ENOTDIR
        )
        try:
            # What a login shell says by itself comes first; the id stands in the last line of it.
            hello = self._exchange(script.encode(), b"end 0\n", timeout_s + 1.0)
            self.pid = int(hello.split(self._token)[0].split()[-1])
        except (ValueError, IndexError):
            self.close()
            raise HostError(f"The shell of {host.host} gave no understandable answer.") from None
        except HostError:
            self.close()
            raise

    def ask(self, asks: Iterable[Ask], timeout_s: float) -> dict[Ask, Answer]:
        """All answers, in one exchange. Raises `HostError` when the connection is lost or the time is over."""
        wanted = list(dict.fromkeys(asks))
        with self._lock:
            if self.lost is not None:
                raise self.lost
            self._batches += 1
            text = "\n".join([*_commands(wanted), f"e end {self._batches}", ""])
            try:
                out = self._exchange(
                    text.encode(errors="surrogateescape"), f"end {self._batches}\n".encode(), timeout_s
                )
            except HostError as error:
                self.lost = error
                self._kill()
                raise
        found = self._parse(out)
        # A path is asked for in one way at a time, so that the last answer of a path is its answer.
        return {one: found.get((one.what, one.path), Answer(error=errno.EIO)) for one in wanted}

    def close(self) -> None:
        """Ends it there, too: a shell whose input ends is over."""
        with self._lock:
            if self.lost is None:
                self.lost = HostError(f"The connection to {self._host.host} was closed.")
            self._kill()
            for pipe in self._pipes():
                with contextlib.suppress(OSError):
                    pipe.close()

    def interrupt(self) -> None:
        """Makes a question under way in another thread fail at once."""
        self._process.kill()

    def _kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def _pipes(self) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
        process = self._process
        assert process.stdin is not None, "made with a pipe"
        assert process.stdout is not None, "made with a pipe"
        assert process.stderr is not None, "made with a pipe"
        return process.stdin, process.stdout, process.stderr

    def _exchange(self, text: bytes, end: bytes, timeout_s: float) -> bytes:
        """Sends a text and reads up to the line that ends its answer."""
        stdin, stdout, stderr = self._pipes()
        begun_s = self._clock.monotonic()
        mark = self._token + end
        out, unsent = bytearray(), text
        with selectors.DefaultSelector() as waiting:
            waiting.register(stdout, selectors.EVENT_READ)
            waiting.register(stderr, selectors.EVENT_READ)
            waiting.register(stdin, selectors.EVENT_WRITE)
            while not out.endswith(mark):
                left_s = begun_s + timeout_s - self._clock.monotonic()
                ready = waiting.select(left_s) if left_s > 0 else []
                if not ready and self._clock.monotonic() - begun_s >= timeout_s:
                    raise HostError(
                        f"{self._host.host} did not answer within {timeout_s:g} s.",
                        found=f"{self._host.host} did not answer within {timeout_s:g} s",
                        todo=f"try it by hand: {self._host.by_hand(5)}",
                    )
                for key, _ in ready:
                    if key.fileobj is stdin:
                        unsent = self._send(stdin, unsent)
                        if not unsent:
                            waiting.unregister(stdin)
                    elif key.fileobj is stderr:
                        if not self._hear(stderr):
                            waiting.unregister(stderr)
                    else:
                        self._receive(stdout, out)
        return bytes(out)

    def _send(self, stdin: IO[bytes], unsent: bytes) -> bytes:
        """What is left to send; when the other side is gone, its output says so."""
        try:
            sent = os.write(stdin.fileno(), unsent[:_CHUNK_BYTES])
        except BlockingIOError:
            return unsent
        except BrokenPipeError:
            return b""
        self.sent_bytes += sent
        return unsent[sent:]

    def _hear(self, stderr: IO[bytes]) -> bool:
        """Keeps what ssh itself says. False at the end."""
        try:
            words = os.read(stderr.fileno(), _CHUNK_BYTES)
        except BlockingIOError:
            return True
        self._words = (self._words + words)[-_WORDS_BYTES_MAX:]
        return bool(words)

    def _receive(self, stdout: IO[bytes], out: bytearray) -> None:
        """Raises `HostError` at the end of the stream, and when there is too much of it."""
        try:
            part = os.read(stdout.fileno(), _CHUNK_BYTES)
        except BlockingIOError:
            return
        out += part
        self.received_bytes += len(part)
        if len(out) > ANSWER_BYTES_MAX:
            raise HostError(f"{self._host.host} sent more than {ANSWER_BYTES_MAX >> 20} MiB at once.")
        if part:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        while self._hear(self._pipes()[2]) and self._process.poll() is None:
            pass
        raise ssh_failed(self._host, self._process.poll(), self._words.decode(errors="replace"), self.received_bytes)

    def _parse(self, out: bytes) -> dict[tuple[str, str], Answer]:
        found: dict[tuple[str, str], Answer] = {}
        content, *rest = out.split(self._token)
        what = FILE
        for part in rest:
            line, _, after = part.partition(b"\n")
            error, _, path = line.decode(errors="surrogateescape").partition(" ")
            if error == "now":
                what = path
            elif error.isdigit():
                found[what, path] = Answer(content if error == "0" else b"", int(error))
            content = after
        return found


def _commands(asks: Sequence[Ask]) -> list[str]:
    """Lines of the shell: by what is asked, files of many processes together."""
    lines: list[str] = []
    for what in (FILE, NAMES, KIND, LINK):
        paths = [one.path for one in asks if one.what == what]
        if not paths:
            continue
        lines.append(f"e now {what}")
        single, alike = _grouped(paths) if what == FILE else (paths, {})
        for (before, after), names in alike.items():
            for start in range(0, len(names), _NAMES_A_LINE):
                part = " ".join(map(shlex.quote, names[start : start + _NAMES_A_LINE]))
                lines.append(f"g {shlex.quote(before)} {shlex.quote(after)} {part}")
        for start in range(0, len(single), _NAMES_A_LINE):
            lines.append(" ".join([what, *map(shlex.quote, single[start : start + _NAMES_A_LINE])]))
    return lines


def _grouped(paths: Sequence[str]) -> tuple[list[str], dict[tuple[str, str], list[str]]]:
    """Paths apart from those that differ only in the number of a process."""
    alike: dict[tuple[str, str], list[str]] = {}
    single: list[str] = []
    for path in paths:
        parts = path.split("/")
        if len(parts) == 4 and parts[2].isdigit():
            alike.setdefault((f"/{parts[1]}/", f"/{parts[3]}"), []).append(parts[2])
        else:
            single.append(path)
    for (before, after), names in list(alike.items()):
        if len(names) < _ALIKE_MIN:
            single += [before + name + after for name in alike.pop((before, after))]
    return single, alike
