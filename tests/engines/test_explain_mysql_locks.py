"""Queues and held snapshots on real servers of the MySQL family: each is named first, and its holder with it.

One run on one server is in everyday's tests; the other servers and causes belong to the full matrix (`make engines`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest
from explain_mysql import ask, connection, finding, first, label, run, running, server
from explain_tools import CLOCK, Load, explained, grave, keep, named_at

from dbdyno.model.plan import WorkloadSpec
from dbdyno.sandbox.options import SandboxOptions
from dbdyno.sandbox.sandbox import Sandbox

ACCOUNTS = WorkloadSpec(name="tpcb")
HISTORY = WorkloadSpec(name="heavy_update")
FULL = pytest.mark.engines_full
KINDS = {"mariadb": ("mariadb", None), "mysql": ("mysql", None), "mariadb-11.4": ("mariadb", "11.4")}
PROVOKED_HERE = {"metadata-lock-queue", "row-lock-pile-up", "deadlock-storm", "purge-lag"}


@pytest.fixture(
    scope="module", params=["mariadb", pytest.param("mysql", marks=FULL), pytest.param("mariadb-11.4", marks=FULL)]
)
def box(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A server whose commits wait for nothing, with the accounts and a history."""
    scheme, version = KINDS[request.param]
    with (
        server(scheme, SandboxOptions(), ACCOUNTS, HISTORY, version=version) as box,
        running(box, innodb_flush_log_at_trx_commit=0, sync_binlog=0, innodb_buffer_pool_size=256 << 20),
    ):
        yield box


def thread_of(one: pymysql.connections.Connection[Any]) -> str:
    return str(run(one, "SELECT CONNECTION_ID()")[0][0])


def test_a_changed_table_and_a_held_row_are_told_apart(box: Sandbox, tmp_path: Path) -> None:
    """ALTER TABLE behind an open transaction; a transaction that sleeps on the row that all want."""
    holders: list[str] = []

    def meanwhile() -> None:
        CLOCK.sleep(5)
        with connection(box) as reader, connection(box) as changer:
            holders.append(thread_of(reader))
            run(reader, "SELECT COUNT(*) FROM pgbench_branches")
            change = threading.Thread(
                target=run, args=(changer, "ALTER TABLE pgbench_branches ADD COLUMN IF NOT EXISTS extra INT"
                                  if "maria" in label(box).lower() else "ALTER TABLE pgbench_branches COMMENT = 'x'"),
            )  # fmt: skip
            change.start()
            CLOCK.sleep(4)
            run(reader, "ROLLBACK")
            change.join()
        CLOCK.sleep(2)
        with connection(box) as sleeper:
            holders.append(thread_of(sleeper))
            run(sleeper, "UPDATE pgbench_branches SET bbalance = bbalance + 1")
            CLOCK.sleep(4)
            run(sleeper, "ROLLBACK")

    found = explained(box, tmp_path / "run", Load(ACCOUNTS, 17, rate_per_s=100), meanwhile)
    for cause, how, start_s, holder in (
        ("metadata-lock-queue", "ALTER TABLE behind an open transaction", 5, holders[0]),
        ("row-lock-pile-up", "a transaction that sleeps on the row that all want", 11, holders[1]),
    ):
        named = named_at(found, start_s + 1, start_s + 3)
        assert named[:1] == [cause], (cause, named, found.stalls)
        assert finding(found, cause).evidence["holder"] == holder
        keep(cause, how, named, server=label(box))


@FULL
def test_rows_that_are_taken_in_two_orders(box: Sandbox, tmp_path: Path) -> None:
    ask(box, "CREATE TABLE IF NOT EXISTS pair (a INT PRIMARY KEY, b INT) ENGINE=InnoDB",
        "REPLACE INTO pair VALUES (1, 0), (2, 0)")  # fmt: skip

    def take(one: int, other: int, end_s: float) -> None:
        with connection(box) as client:
            while CLOCK.monotonic() < end_s:
                try:
                    run(client, f"UPDATE pair SET b = b + 1 WHERE a = {one}")
                    CLOCK.sleep(0.005)
                    run(client, f"UPDATE pair SET b = b + 1 WHERE a = {other}", "COMMIT")
                except pymysql.Error:
                    run(client, "ROLLBACK")

    def meanwhile() -> None:
        end_s = CLOCK.monotonic() + 12
        clients = [threading.Thread(target=take, args=(1 + number % 2, 2 - number % 2, end_s)) for number in range(6)]
        for one in clients:
            one.start()
        for one in clients:
            one.join()

    found = explained(box, tmp_path / "run", Load(ACCOUNTS, 12, rate_per_s=5, threads=2), meanwhile)
    assert first(found)[:1] == ["deadlock-storm"], first(found)
    keep("deadlock-storm", "six clients take two rows in two orders", first(found), server=label(box))


@FULL
def test_a_snapshot_that_is_held(box: Sandbox, tmp_path: Path) -> None:
    holders: list[str] = []

    def meanwhile() -> None:
        with connection(box) as holder:
            holders.append(thread_of(holder))
            run(holder, "START TRANSACTION WITH CONSISTENT SNAPSHOT", "SELECT COUNT(*) FROM stress_object")
            CLOCK.sleep(32)
            run(holder, "ROLLBACK")

    changes = WorkloadSpec(name="heavy_update", options={"reads_per_write": "0"})
    found = explained(box, tmp_path / "run", Load(changes, 34), meanwhile)
    assert first(found)[:1] == ["purge-lag"], first(found)
    assert finding(found, "purge-lag").evidence["holder"] == f"connection {holders[0]}, idle in it"
    keep("purge-lag", "a snapshot of half a minute under updates", first(found), server=label(box))


@FULL
@pytest.mark.parametrize("load", [Load(ACCOUNTS, 25, threads=4, rate_per_s=60), None], ids=["load", "idle"])
def test_a_calm_server_has_none_of_them(box: Sandbox, tmp_path: Path, load: Load | None) -> None:
    """The negative control: nothing of the server's at all, whatever else happens on the machine."""
    found = explained(box, tmp_path / "run", load, seconds=10)
    assert not set(first(found)) & set(grave(found)), (first(found), found.stalls)
    assert not set(first(found)) & PROVOKED_HERE
