"""The files of a machine: its own under `/`, or a copy of proc, sys and etc under any other root.

Reading never raises: what cannot be read is a fact with its reason. A file that is not there is told from one that may
not be read, since many mean something by their absence (no frequency driver, no swap device, nothing configured).
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dbdyno.model.fact import Fact, Scalar

ABSENT = "absent"
"""Value of a fact about something that this kernel or this machine does not have."""
FILE_BYTES_MAX = 8 << 20
"""More than that is not read of one file; the memory map of a server with very many mappings is about as long."""
CHUNK_BYTES = 1 << 16
LINKS_MAX = 8
UNREADABLE = ".unreadable"
"""File at the top of a copy: `path<TAB>reason` for each file that was there and could not be copied."""


@functools.lru_cache(maxsize=64)
def _unreadable(root: Path) -> dict[str, str]:
    if root == Path("/"):
        return {}
    try:
        lines = (root / UNREADABLE).read_text(errors="replace").splitlines()
    except OSError:
        return {}
    return {path: why or "could not be read" for path, _, why in (line.partition("\t") for line in lines) if path}


@dataclass(frozen=True)
class Tree:
    """Files below `root`, addressed without a leading slash."""

    root: Path

    @property
    def live(self) -> bool:
        """Whether it is the machine that we run on."""
        return self.root == Path("/")

    def text(self, path: str) -> str:
        """Raises `OSError`. Bytes that are no text are replaced: a name in /proc may hold anything."""
        self._refuse(path)
        place = self._place(path)
        parts: list[bytes] = []
        with place.open("rb", buffering=0) as file:
            # The kernel reserves as much memory as is asked for at once, and refuses much.
            while len(parts) * CHUNK_BYTES < FILE_BYTES_MAX and (part := file.read(CHUNK_BYTES)):
                parts.append(part)
        return b"".join(parts).decode(errors="replace")

    def _place(self, path: str) -> Path:
        """Where a path of the machine lies. In a copy a link to `/usr/…` means the copy's, and none leads out of it."""
        place = self.root / path
        if self.live:
            return place
        for _ in range(LINKS_MAX):
            if not place.is_symlink() or not os.path.isabs(target := os.readlink(place)):
                break
            place = self.root / target.lstrip("/")
        real, root = os.path.realpath(place), os.path.realpath(self.root)
        if os.path.commonpath([real, root]) != root:
            raise PermissionError(13, "a link that leads out of the copy", "/" + path)
        return place

    def _refuse(self, path: str) -> None:
        """A copy of a machine says which files could not be copied: those are not missing."""
        if why := _unreadable(self.root).get(path):
            raise PermissionError(13, why, "/" + path)

    def link(self, path: str) -> str:
        """Where a symbolic link points to. Raises `OSError`."""
        self._refuse(path)
        return os.readlink(self.root / path)

    def names(self, folder: str) -> list[str]:
        """Names in a folder, sorted. Raises `OSError`."""
        self._refuse(folder)
        return sorted(os.listdir(self._place(folder)))

    def has(self, path: str) -> bool:
        """Whether it is there; also when it may not be read."""
        return path in _unreadable(self.root) or (self.root / path).exists()

    def covers(self, path: str) -> bool:
        """Whether the tree has that part of a machine at all; a copy may have no /etc."""
        return (self.root / path.split("/", 1)[0]).is_dir()

    def attempt(self, name: str, path: str, look: Callable[[], Scalar], *, unit: str = "",
                absent: Scalar = None) -> Fact:  # fmt: skip
        """The fact that `look` makes of `path`, or why it could not. `absent` is the value when the file is not there
        (None: its absence is a reason not to know)."""
        source = "/" + path
        try:
            return Fact(name=name, unit=unit, source=source, value=look())
        except FileNotFoundError as error:
            if absent is not None and self.covers(path):
                return Fact(name=name, unit=unit, source=source, value=absent)
            return Fact(name=name, unit=unit, source=source, unknown=error.strerror or str(error))
        except OSError as error:
            return Fact(name=name, unit=unit, source=source, unknown=error.strerror or str(error))
        except (ValueError, IndexError, KeyError) as error:
            return Fact(name=name, unit=unit, source=source, unknown=f"cannot be parsed: {error}")

    def fact(self, name: str, path: str, parse: Callable[[str], Scalar] = str.strip, *, unit: str = "",
             absent: Scalar = None) -> Fact:  # fmt: skip
        """One file as one fact."""
        return self.attempt(name, path, lambda: parse(self.text(path)), unit=unit, absent=absent)

    def processes(self) -> Iterator[int]:
        """Ids of the processes that are listed. Raises `OSError`."""
        return (int(name) for name in self.names("proc") if name.isdigit())


def unknowns(names: tuple[str, ...], source: str, why: str) -> list[Fact]:
    """Facts that could not be made for one common reason."""
    return [Fact(name=name, source=source, unknown=why) for name in names]
