"""The files of another machine as paths that the machine's probes read like any others.

Which files a probe reads is learned by watching it read: all that it read the last time is fetched in one exchange
before it is asked again, and what it reads besides is fetched when it does. So there is no list of probes or files.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import struct
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from pathlib import Path, PosixPath, PurePosixPath
from typing import IO, Any, ClassVar

from dbdyno.hosts.shell import FILE, KIND, LINK, NAMES, Answer, Ask, Shell
from dbdyno.model.errors import DynoError

EXCHANGE_S_MAX = 4.0
REHEARSALS = 4
"""A reader that was never seen is first made to show what it reads, so that it is not fetched file by file."""
_SIBLINGS_MAX = 500
"""Files of one name that are fetched together in the folders that were just listed."""


class Files:
    """What is known of a machine's files at this moment, and how the rest is had."""

    def __init__(self, shell: Shell, timeout_s: float = EXCHANGE_S_MAX) -> None:
        self._shell = shell
        self._timeout_s = timeout_s
        self._known: dict[Ask, Answer] = {}
        self._learned: dict[str, set[Ask]] = {}
        self._touched: set[Ask] = set()
        self._missed: set[Ask] | None = None
        """While a reader is rehearsed: what it wanted."""
        self.exchanges = 0
        self.root = _root_of(self)

    def look(self, readers: Mapping[str, Callable[[], Any]]) -> None:
        """Forgets what was, and fetches what these readers are going to read, by their names. Raises `HostError`."""
        self._known.clear()
        self._fetch({ask for name in readers for ask in self._learned.get(name, ())})
        strange = [read for name, read in readers.items() if name not in self._learned]
        for _ in range(REHEARSALS if strange else 0):
            self._missed = set()
            try:
                for read in strange:
                    with contextlib.suppress(OSError, ValueError, LookupError, DynoError):
                        read()
                missed = self._with_siblings(self._missed)
            finally:
                self._missed = None
            if not missed:
                return
            self._fetch(missed)

    @contextlib.contextmanager
    def reading(self, name: str) -> Iterator[Path]:
        """What is read meanwhile is what the reader of that name reads."""
        self._touched = set()
        try:
            yield self.root
        finally:
            if self._touched:
                self._learned[name] = self._touched

    def ask(self, what: str, path: str) -> bytes:
        """Raises `OSError` as the machine itself would, `HostError` when it cannot be asked."""
        ask = Ask(what, path)
        self._touched.add(ask)
        answer = self._known.get(ask)
        if answer is None:
            if self._missed is not None:
                self._missed.add(ask)
                raise FileNotFoundError(errno.ENOENT, "not fetched yet", path)
            self._fetch(self._siblings(ask))
            answer = self._known[ask]
        if answer.error:
            raise OSError(answer.error, os.strerror(answer.error), path)
        return answer.content

    def names(self, path: str) -> list[str]:
        names = [name for name in self.ask(NAMES, path).decode(errors="surrogateescape").split("\n") if name]
        # A pattern that matches nothing stands for itself.
        return [] if names == ["*"] else names

    def _fetch(self, asks: Iterable[Ask]) -> None:
        if wanted := [ask for ask in asks if ask not in self._known]:
            self.exchanges += 1
            self._known |= self._shell.ask(wanted, self._timeout_s)

    def _with_siblings(self, asks: Iterable[Ask]) -> set[Ask]:
        """All of these, and what they stand for: of files of one name only the newest process's is looked at."""
        found = set(asks)
        newest = {(ask.what, PurePosixPath(ask.path).name): ask for ask in sorted(found, key=_process)}
        return found.union(*(self._siblings(ask) for ask in newest.values()))

    def _siblings(self, ask: Ask) -> list[Ask]:
        """A file of one process is wanted of the others that were listed, too: the newest first."""
        above, _, leaf = ask.path.rpartition("/")
        folder, _, own = above.rpartition("/")
        listed = self._known.get(Ask(NAMES, folder))
        if ask.what != FILE or listed is None or listed.error or not own.isdigit():
            return [ask]
        others = sorted(int(name) for name in listed.content.decode(errors="replace").split() if name.isdigit())
        below = [pid for pid in others if pid < int(own)][-_SIBLINGS_MAX:]
        near = [Ask(FILE, f"{folder}/{pid}/{leaf}") for pid in below]
        return [ask, *(one for one in near if one not in self._known)]


def _process(ask: Ask) -> int:
    parts = ask.path.split("/")
    return int(parts[2]) if len(parts) > 2 and parts[2].isdigit() else 0


class _Faraway(PosixPath):
    """A path of another machine. Its words begin with a folder that this machine has not, so that whatever is not
    answered here finds nothing rather than this machine's file."""

    files: ClassVar[Files]
    top: ClassVar[str]

    @property
    def _there(self) -> str:
        return str(self)[len(self.top) :] or "/"

    def read_bytes(self) -> bytes:
        return self.files.ask(FILE, self._there)

    def read_text(self, encoding: str | None = None, errors: str | None = None, *_: Any, **__: Any) -> str:
        text = self.read_bytes().decode(encoding or "utf-8", errors or "strict")
        return text.replace("\r\n", "\n")

    def open(self, mode: str = "r", *_: Any, **words: Any) -> IO[Any]:  # type: ignore[override]
        if set(mode) - set("rbt"):
            raise PermissionError(errno.EROFS, "another machine is only read", str(self))
        if "b" in mode:
            return io.BytesIO(self.read_bytes())
        return io.StringIO(self.read_text(words.get("encoding"), words.get("errors")))

    def iterdir(self) -> Generator[_Faraway, None, None]:
        yield from [self / name for name in self.files.names(self._there)]

    def exists(self, *_: Any, **__: Any) -> bool:
        return self._kind() != ""

    def is_dir(self, *_: Any, **__: Any) -> bool:
        return self._kind() == "d"

    def is_file(self, *_: Any, **__: Any) -> bool:
        return self._kind() == "f"

    def readlink(self) -> Any:
        return Path(self.files.ask(LINK, self._there).decode(errors="surrogateescape").strip())

    def _kind(self) -> str:
        try:
            return self.files.ask(KIND, self._there).decode()
        except FileNotFoundError:
            return ""


def _root_of(files: Files) -> Path:
    # The class carries the connection: paths made of a path are of its class in every version of Python.
    top = "/nowhere/another-machine"
    path: Path = type("Faraway", (_Faraway,), {"files": files, "top": top})(top)
    return path


def parse_auxv(content: bytes) -> tuple[int, int] | None:
    """Bytes of a page and ticks per second, from /proc/self/auxv (getauxval(3)) of a machine of either word size and
    byte order; None when it does not say."""
    for form in ("<QQ", ">QQ", "<II", ">II"):
        size = struct.calcsize(form)
        pairs = dict(struct.iter_unpack(form, content[: len(content) // size * size]))
        page, ticks = pairs.get(6, 0), pairs.get(17, 0)
        if 1024 <= page <= 1 << 22 and 1 <= ticks <= 10_000:
            return page, ticks
    return None


def parse_clock(stat: str, uptime: str) -> float:
    """The wall clock of a machine, to half a second: `btime` of /proc/stat has whole seconds. Raises `ValueError`."""
    for line in stat.splitlines():
        if line.startswith("btime "):
            return float(line.split()[1]) + 0.5 + float(uptime.split(maxsplit=1)[0])
    raise ValueError("no btime in /proc/stat")
