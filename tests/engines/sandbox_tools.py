"""What tests of sandboxes share."""

from __future__ import annotations

from pathlib import Path

import psycopg

from dbdyno.sandbox.sandbox import Sandbox


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
