"""One dyno at a time on a sandbox: an advisory lock that the kernel frees when its holder dies."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from dbdyno.model.errors import SandboxError


class Lock:
    """Can be taken several times by its owner; free again after as many releases."""

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._name = name
        self._file: int | None = None
        self._depth = 0

    @property
    def held(self) -> bool:
        return self._depth > 0

    def acquire(self) -> None:
        """Raises `SandboxError` that names the holder."""
        if self._depth == 0:
            try:
                file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise SandboxError(
                    f"The sandbox {self._name!r} cannot be locked.", found=f"{self._path}: {error.strerror}"
                ) from None
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                holder = os.pread(file, 32, 0).decode("ascii", "replace").strip()
                os.close(file)
                raise SandboxError(
                    f"The sandbox {self._name!r} is in use by another dyno.",
                    found=f"its process number is {holder}" if holder else "",
                    todo="wait for it to end, or use another sandbox (name=…)",
                ) from None
            os.ftruncate(file, 0)
            os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
            self._file = file
        self._depth += 1

    def release(self) -> None:
        self._depth -= 1
        if self._depth == 0 and self._file is not None:
            # It may be gone with its folder, and not every file system knows such a file any more.
            with contextlib.suppress(FileNotFoundError):
                os.ftruncate(self._file, 0)
            os.close(self._file)
            self._file = None
