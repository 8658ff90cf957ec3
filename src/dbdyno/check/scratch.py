"""Folders for what was fetched from another machine. Whoever makes one first removes what programs that were killed, or
that ended while a time-out's reader was still writing, left of theirs."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_LOCK = ".lock"


@contextlib.contextmanager
def scratch_folder(kind: str) -> Iterator[Path]:
    """An empty folder that is removed again; `kind` is a word in its name. Nobody but the user may enter it.

    Its owner holds a lock beside what is in it: one that nobody holds is left over, whatever became of process ids.
    """
    prefix = f"dyno-{kind}-"
    above = Path(tempfile.gettempdir())
    _sweep(above, prefix)
    made = tempfile.TemporaryDirectory(prefix=prefix, dir=above, ignore_cleanup_errors=True)
    with made as name, _locked(Path(name)):
        inside = Path(name) / "files"
        inside.mkdir()
        yield inside


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Made and locked are two steps: what holds no files yet is not swept."""
    with (folder / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _sweep(above: Path, prefix: str) -> None:
    for folder in above.glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            with (folder / _LOCK).open("r") as lock:
                # Ours, or another program's that still runs: then this fails.
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if (folder / "files").exists():
                    shutil.rmtree(folder, ignore_errors=True)
