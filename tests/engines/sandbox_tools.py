"""What tests of sandboxes share."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg

from dbdyno.cli.common import SystemClock
from dbdyno.model.errors import DynoError
from dbdyno.model.home import Home
from dbdyno.sandbox.sandbox import Sandbox, list_sandboxes, remove


@contextlib.contextmanager
def temporary_home(clock: SystemClock) -> Iterator[Home]:
    """A home that the server's user may enter (pytest's own folders are closed to it); its sandboxes are removed."""
    root = Path(tempfile.mkdtemp(prefix="dyno-test-"))
    root.chmod(0o755)
    home = Home(root)
    try:
        yield home
    finally:
        for one in list_sandboxes(home, clock=clock):
            with contextlib.suppress(DynoError):
                remove(home, one.name, clock=clock, force=True)
        shutil.rmtree(root)


def ask(sandbox: Sandbox, query: str) -> list[tuple[object, ...]]:
    target = sandbox.target
    with psycopg.connect(
        host=target.host, port=target.port, user=target.user, dbname=target.database, autocommit=True
    ) as connection:
        cursor = connection.execute(query)
        return cursor.fetchall() if cursor.description else []


def leaves_nothing(sandbox: Sandbox) -> None:
    assert not sandbox.folder.exists()
    assert str(sandbox.folder) not in Path("/proc/self/mountinfo").read_text()
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        assert str(sandbox.folder) not in backing.read_text()
    assert not list(Path("/sys/fs/cgroup").glob(f"**/{sandbox._key}"))
