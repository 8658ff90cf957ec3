"""Causes that other clients bring about, provoked on a real server: short enough for every run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from explain_tools import CLOCK, Load, connection, explained, grave, keep, named_at, need_driver
from sandbox_tools import ask, temporary_home

from dbdyno.engines.registry import engine_named
from dbdyno.model.plan import WorkloadSpec
from dbdyno.run.driver import load_dataset
from dbdyno.sandbox.options import Disk, SandboxOptions
from dbdyno.sandbox.sandbox import Sandbox, create

ACCOUNTS = WorkloadSpec(name="tpcb")


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    """A server on a volume of its own where there can be one."""
    need_driver()
    with temporary_home(CLOCK) as home:
        options = SandboxOptions(disk=Disk.EXT4, size_bytes=2 << 30)
        box = create(home, engine_named("postgresql"), "queues", options, clock=CLOCK)
        with box.held():
            box.start()
            load_dataset(box.target, box.secret, ACCOUNTS, threads=2, seed=1)
            yield box


def test_transactions_that_wait_for_each_other_in_a_circle(box: Sandbox, tmp_path: Path) -> None:
    def both(first: str, second: str, end_s: float) -> None:
        with connection(box) as one:
            while CLOCK.monotonic() < end_s:
                try:
                    one.execute(first)
                    CLOCK.sleep(0.05)
                    one.execute(second)
                    one.commit()
                except psycopg.errors.DeadlockDetected:
                    one.rollback()

    def meanwhile() -> None:
        CLOCK.sleep(6)
        branch = "UPDATE pgbench_branches SET bbalance = bbalance + 1 WHERE bid = 1"
        teller = "UPDATE pgbench_tellers SET tbalance = tbalance + 1 WHERE tid = 1"
        end_s = CLOCK.monotonic() + 5
        threads = [
            threading.Thread(target=both, args=(*order, end_s)) for order in ((branch, teller), (teller, branch))
        ]
        for one in threads:
            one.start()
        for one in threads:
            one.join()

    found = explained(box, tmp_path / "run", Load(ACCOUNTS, 14, rate_per_s=80), meanwhile)
    named = named_at(found, 6, 11)
    assert named[:1] == ["deadlock-circles"], (named, found.stalls)
    keep("deadlock-circles", "two clients take the same two rows in different orders", named)


def test_numbers_of_transactions_that_are_not_frozen(box: Sandbox, tmp_path: Path) -> None:
    box.restart({"autovacuum_freeze_max_age": 100_000})
    with connection(box) as holder, connection(box) as spender:
        holder.execute("SELECT txid_current()")
        spender.execute("CREATE TEMPORARY TABLE spent (i int)")
        for _ in range(5):
            spender.execute(
                "DO $$ BEGIN FOR i IN 1..50000 LOOP BEGIN INSERT INTO spent VALUES (i); "
                "EXCEPTION WHEN OTHERS THEN NULL; END; END LOOP; END $$"
            )
            spender.commit()
        found = explained(box, tmp_path / "run", None, seconds=4)
    box.restart({})
    ask(box, "VACUUM (FREEZE)")
    assert grave(found)[:1] == ["wrap-around-near"], grave(found)
    keep(
        "wrap-around-near",
        "250,000 transactions, autovacuum_freeze_max_age 100,000, a transaction that stays open",
        grave(found),
    )
