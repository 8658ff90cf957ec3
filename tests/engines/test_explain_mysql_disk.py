"""What a full disk, a wrong bound and wrong guesses of the server's cost: causes that want a disk of their own.

The brake is on the disk under the volume, so that the volume itself is busy and has a queue, as a slow disk has. All of
it belongs to the full matrix (`make engines`).
"""

from __future__ import annotations

import contextlib
import os
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest
from explain_machine import brake
from explain_mysql import ask, connection, first, label, run, running, server
from explain_tools import CLOCK, Load, explained, keep
from test_explain_mysql_pages import HISTORY, MIB, TABLE, changes, settings

from dbdyno.model.knob import Value
from dbdyno.sandbox.options import Disk, SandboxOptions
from dbdyno.sandbox.sandbox import Sandbox

pytestmark = [pytest.mark.engines_full, pytest.mark.timeout(300)]
DISK = SandboxOptions(disk=Disk.EXT4, size_bytes=3 << 30)
REFS = 50_000
"""Objects in the history, twenty rows each in the order of the primary key: five or six on a page."""

SMALL_TABLES: dict[str, Value] = {"tmp_table_size": 16 << 10, "max_heap_table_size": 16 << 10}


@pytest.fixture(scope="module")
def mariadb() -> Iterator[Sandbox]:
    with server("mariadb", DISK, HISTORY) as box:
        yield box


@pytest.fixture(scope="module")
def mysql() -> Iterator[Sandbox]:
    with server("mysql", DISK, HISTORY) as box:
        yield box


@contextlib.contextmanager
def clients(
    box: Sandbox, count: int, work: Callable[[pymysql.connections.Connection[Any], int], None]
) -> Iterator[None]:
    """That many clients do it again and again, each with its number, until they are told to end."""
    over = threading.Event()

    def loop(number: int) -> None:
        with connection(box) as one:
            one.autocommit(True)
            while not over.is_set():
                with contextlib.suppress(pymysql.Error):
                    work(one, number)

    threads = [threading.Thread(target=loop, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def test_a_flusher_that_is_held_to_a_bound_below_the_disk(mariadb: Sandbox, tmp_path: Path) -> None:
    bound: dict[str, Value] = {"innodb_io_capacity": 100, "innodb_io_capacity_max": 100}
    # The log is to be nearly full and no more: at the limit the flusher heeds no bound.
    bound |= {"innodb_log_file_size": 24 * MIB, "innodb_max_dirty_pages_pct_lwm": 1, "innodb_flushing_avg_loops": 1}
    with running(mariadb, TABLE, **settings(mariadb, **bound)):
        found = explained(mariadb, tmp_path / "run", Load(changes(), 38, rate_per_s=600))
    assert first(found)[:1] == ["io-capacity-too-low"], (first(found), found.stalls)
    keep("io-capacity-too-low", "innodb_io_capacity and its maximum 100", first(found), server=label(mariadb))


def test_pages_written_twice_to_a_disk_that_is_full(mariadb: Sandbox, tmp_path: Path) -> None:
    even: dict[str, Value] = {"innodb_io_capacity": 300, "innodb_io_capacity_max": 300}
    even |= {"innodb_max_dirty_pages_pct_lwm": 0.01, "innodb_log_file_size": 512 * MIB}
    with running(mariadb, TABLE, **settings(mariadb, **even)), brake(mariadb) as disk:
        disk.limit(bytes_per_s=8 << 20)
        found = explained(mariadb, tmp_path / "run", Load(changes(), 30, threads=16, rate_per_s=600))
        disk.limit()
    assert first(found)[:1] == ["doublewrite-bound"], (first(found), found.stalls)
    keep(
        "doublewrite-bound", "changed pages flushed without delay, a disk of 8 MiB a second", first(found),
        server=label(mariadb),
    )  # fmt: skip


def test_neighbours_that_are_written_too(mysql: Sandbox, tmp_path: Path) -> None:
    with running(mysql, TABLE, **settings(mysql, innodb_flush_neighbors=1, innodb_log_file_size=24 * MIB)):
        turning = Path(f"/sys/block/{mysql.device()}/queue/rotational")
        if not os.access(turning, os.W_OK):
            pytest.skip("the disk under the data may not be said to have no heads")
        turning.write_text("0")
        ask(mysql, "SET GLOBAL innodb_monitor_enable = 'buffer_flush_neighbor_total_pages'")
        found = explained(mysql, tmp_path / "run", Load(changes(), 25, rate_per_s=600))
    assert first(found)[:1] == ["flush-neighbours"], (first(found), found.stalls)
    keep("flush-neighbours", "innodb_flush_neighbors 1 on a disk without heads", first(found), server=label(mysql))


def touch_an_extent(one: pymysql.connections.Connection[Any], number: int) -> None:
    """Every other page of a few extents, twice each so that it counts as young, and on to others."""
    at = random.Random(CLOCK.monotonic()).randrange(REFS - 600)
    for ref in range(at, at + 550, 11):
        for _ in range(2):
            run(one, f"SELECT changes FROM {TABLE} WHERE ref = {ref} AND line = 1")
    CLOCK.sleep(0.3)


def test_pages_read_ahead_for_nobody(mysql: Sandbox, tmp_path: Path) -> None:
    guesses: dict[str, Value] = {"innodb_random_read_ahead": "ON", "innodb_buffer_pool_size": 32 * MIB}
    # Only what statements throw out to make room is counted as unused: the page cleaner shall not do it for them.
    guesses |= {"innodb_old_blocks_time": 0, "innodb_lru_scan_depth": 100}
    with running(mysql):
        ask(mysql, f"ALTER TABLE {TABLE} FORCE")  # Its pages lie in the order of the key.
    with running(mysql, **settings(mysql, **guesses)), clients(mysql, 1, touch_an_extent):
        CLOCK.sleep(12)  # Until the pool is full: from then on what is read ahead is thrown out again.
        found = explained(mysql, tmp_path / "run", None, seconds=15)
    assert first(found)[:1] == ["read-ahead-unused"], (first(found), found.stalls)
    keep(
        "read-ahead-unused",
        "innodb_random_read_ahead, half of an extent's pages asked for",
        first(found),
        server=label(mysql),
    )


def test_many_clients_on_one_page(mysql: Sandbox, tmp_path: Path) -> None:
    eager: dict[str, Value] = {"innodb_max_dirty_pages_pct_lwm": 0.001, "innodb_io_capacity": 2000}
    with running(mysql, **settings(mysql, **eager)), brake(mysql) as disk:
        disk.limit(iops=12)
        with clients(mysql, 16, change):
            found = explained(mysql, tmp_path / "run", None, seconds=15)
        disk.limit()
    assert first(found)[:1] == ["latch-contention"], (first(found), found.stalls)
    keep(
        "latch-contention",
        "sixteen clients change one page, a disk of 12 operations a second",
        first(found),
        server=label(mysql),
    )


def change(one: pymysql.connections.Connection[Any], number: int) -> None:
    run(one, f"UPDATE {TABLE} SET changes = changes + 1 WHERE ref = 1 AND line = {number + 1}")
    CLOCK.sleep(0.01)


def spill(one: pymysql.connections.Connection[Any], _: int) -> None:
    run(one, f"SELECT COUNT(*) FROM (SELECT DISTINCT CONCAT(ref, note, line, REPEAT('x', 300)) AS w FROM {TABLE} "
        "WHERE ref <= 20) AS spilled")  # fmt: skip


@pytest.mark.parametrize("kind", ["mariadb", "mysql"])
def test_temporary_tables_that_go_to_disk(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    box: Sandbox = request.getfixturevalue(kind)
    small = dict(SMALL_TABLES)
    if kind == "mysql":
        small["internal_tmp_mem_storage_engine"] = "MEMORY"
    with running(box, TABLE, **settings(box, **small)), clients(box, 4, spill):
        found = explained(box, tmp_path / "run", None, seconds=12)
    assert first(found)[:1] == ["temporary-tables-on-disk"], (first(found), found.stalls)
    keep("temporary-tables-on-disk", "duplicates are sought in 16 KiB of memory", first(found), server=label(box))


def copy_all(one: pymysql.connections.Connection[Any], _: int) -> None:
    CLOCK.sleep(4)
    run(one, f"CREATE TEMPORARY TABLE IF NOT EXISTS copied AS SELECT * FROM {TABLE}")


@pytest.mark.parametrize("kind", ["mariadb", "mysql"])
def test_a_temporary_table_that_runs_away(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    box: Sandbox = request.getfixturevalue(kind)
    with running(box, TABLE, **settings(box)), clients(box, 2, copy_all):
        found = explained(box, tmp_path / "run", None, seconds=25)
    assert first(found)[:1] == ["temporary-space-grows"], (first(found), found.stalls)
    keep("temporary-space-grows", "two temporary copies of a table of 140 MB", first(found), server=label(box))


def test_a_calm_server_has_none_of_them(mysql: Sandbox, tmp_path: Path) -> None:
    """The negative control: neighbours, random read-ahead and temporary tables as the server has them of its own."""
    with running(mysql, TABLE, **settings(mysql)), clients(mysql, 1, lookup):
        found = explained(mysql, tmp_path / "run", Load(changes(), 15, threads=4, rate_per_s=30))
    assert not first(found), (first(found), found.stalls)


def lookup(one: pymysql.connections.Connection[Any], _: int) -> None:
    run(one, f"SELECT DISTINCT note FROM {TABLE} WHERE ref <= 20 LIMIT 5")
    CLOCK.sleep(0.05)
