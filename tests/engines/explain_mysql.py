"""What the tests that provoke the MySQL family's causes share: servers by kind, statements, loads.

A server is made once for a module; between two provocations it is started again with other settings, on a volume whose
limit is lifted for that time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pymysql
import pytest
from explain_tools import CLOCK, need_driver
from sandbox_tools import temporary_home

from dbdyno.engines._mysql.connection import connection_to
from dbdyno.engines.registry import engine_named
from dbdyno.explain.explain import Explanation
from dbdyno.model.errors import DynoError
from dbdyno.model.finding import Finding
from dbdyno.model.knob import Value
from dbdyno.model.plan import WorkloadSpec
from dbdyno.run.driver import load_dataset
from dbdyno.sandbox.options import Disk, SandboxOptions
from dbdyno.sandbox.sandbox import Sandbox, create

IOPS = 300
SLOW = SandboxOptions(disk=Disk.EXT4, iops=IOPS, size_bytes=3 << 30)
"""A volume on which syncs and page writes are scarce."""
LOADING: dict[str, Value] = {"innodb_flush_log_at_trx_commit": 0, "innodb_buffer_pool_size": 512 << 20}


@contextlib.contextmanager
def server(
    scheme: str, options: SandboxOptions, *datasets: WorkloadSpec, version: str | None = None
) -> Iterator[Sandbox]:
    """A private server with these datasets, stopped; the test is skipped where it cannot be had."""
    need_driver()
    found = engine_named(scheme).recipe().installations()
    if not any(version is None or one.version_text.startswith(version) for one in found):
        pytest.skip(f"no server for {scheme} {version or ''} is installed (tools/servers fetches some)")
    with temporary_home(CLOCK) as home:
        try:
            box = create(home, engine_named(scheme), "causes", _of(options, version), clock=CLOCK)
        except DynoError as error:
            pytest.skip(str(error))
        if options.iops and not box.record.options.iops:
            pytest.skip("this machine cannot limit a volume: " + "; ".join(box.notes))
        with box.held():
            box.start(LOADING)
            _limit(box, on=False)
            for one in datasets:
                load_dataset(box.target, box.secret, one, threads=2, seed=1)
            box.stop()
            yield box


def _of(options: SandboxOptions, version: str | None) -> SandboxOptions:
    return SandboxOptions(
        disk=options.disk, iops=options.iops, size_bytes=options.size_bytes, memory_bytes=options.memory_bytes,
        version=version,
    )  # fmt: skip


def _limit(box: Sandbox, *, on: bool) -> None:
    if box.volume and box.record.options.iops:
        box._throttle(on=on)


@contextlib.contextmanager
def running(box: Sandbox, *warm: str, **settings: Value) -> Iterator[Sandbox]:
    """The server with these settings, tables of that name read into its cache. Only between the two is it slowed by the
    volume's limit: neither where it reads tables nor at its end, where it writes what is left."""
    box.start(settings)
    try:
        _limit(box, on=False)
        for table in warm:
            ask(box, f"SELECT COUNT(*), SUM(LENGTH(note)) FROM {table}")
        _limit(box, on=True)
        yield box
    finally:
        _limit(box, on=False)
        box.stop()


@contextlib.contextmanager
def connection(box: Sandbox) -> Iterator[pymysql.connections.Connection[Any]]:
    """Autocommit is off."""
    one = connection_to(box.target, box.secret)
    try:
        one.autocommit(False)
        yield one
    finally:
        with contextlib.suppress(pymysql.Error):
            one.close()


def run(one: pymysql.connections.Connection[Any], *statements: str) -> list[tuple[Any, ...]]:
    """The last one's rows."""
    rows: list[tuple[Any, ...]] = []
    for statement in statements:
        with one.cursor() as cursor:
            cursor.execute(statement)
            rows = list(cursor.fetchall())
    return rows


def ask(box: Sandbox, *statements: str) -> list[tuple[Any, ...]]:
    with connection(box) as one:
        one.autocommit(True)
        return run(one, *statements)


def label(box: Sandbox) -> str:
    """The kind of server, for the table of what was provoked: `MariaDB 10.11`, `MySQL 8.0`, `MariaDB 10.11 RocksDB`."""
    number, _, product = box.installation.version_text.partition(" ")
    words = [product or "server", ".".join(number.split(".")[:2])]
    return " ".join(words + (["RocksDB"] if "rocksdb" in box.installation.scheme else []))


NEIGHBOURS = {"other-programs", "bulk-writer", "processor-stolen", "frequency-low", "disk-saturated", "journal-commit"}
"""Causes on this machine that no test here brings about: what other programs do meanwhile may show."""


def first(found: Explanation) -> list[str]:
    """What was named, the first first, but for the machine's own."""
    return [one.finding.rule for one in found.findings if one.finding.rule not in NEIGHBOURS]


def finding(found: Explanation, cause: str) -> Finding:
    return next(one.finding for one in found.findings if one.finding.rule == cause)
